module github.com/bcdissect/bcdissect/report/page/browsertest

go 1.26.0

require (
	github.com/bcdissect/bcdissect v0.0.0
	github.com/buildkite/terminal-to-html/v3 v3.16.8
	github.com/chromedp/cdproto v0.159.0
	github.com/chromedp/chromedp v0.23.0
)

require (
	github.com/go-json-experiment/json v0.0.0-20260213210345-44df1a37e875 // indirect
	github.com/google/gopacket v1.1.19 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
	github.com/pelletier/go-toml/v2 v2.4.3 // indirect
	go.mau.fi/util v0.9.4 // indirect
	golang.org/x/net v0.62.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.43.0 // indirect
)

replace github.com/bcdissect/bcdissect => ../../..
