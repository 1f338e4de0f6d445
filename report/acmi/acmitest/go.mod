module github.com/bcdissect/bcdissect/report/acmi/acmitest

go 1.26.0

require (
	github.com/bcdissect/bcdissect v0.0.0
	github.com/dharmab/goacmi v1.0.3
)

require (
	github.com/google/gopacket v1.1.19 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
	github.com/martinlindhe/unit v0.0.0-20230420213220-4adfd7d0a0d6 // indirect
	golang.org/x/net v0.62.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
)

replace github.com/bcdissect/bcdissect => ../../..
