//go:build race

package main

// raceDetector tells that tests take ten times as long.
const raceDetector = true
