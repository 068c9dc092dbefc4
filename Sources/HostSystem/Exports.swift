// Modules of the host find JSON beside files, processes and threads.
@_exported public import JSONModel
