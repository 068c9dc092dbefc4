// The server has its own target, because the tests of the commands use it, too.
@_exported import LoadingTestSupport
