// The server is in a target of its own, because the commands' tests run against it, too.
@_exported import LoadingTestSupport
