import CoderHost
