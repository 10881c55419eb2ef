module pullnet.dev/pullnet

go 1.22
