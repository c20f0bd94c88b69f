module cannonade.test/server

go 1.19
