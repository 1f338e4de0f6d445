package ndjson

import "github.com/bcdissect/bcdissect/decode/wire"

// A Server is the answer of a server. A fact that the server does not report is
// nil.
type Server struct {
	Host        string                            `json:"host"`
	Addr        string                            `json:"addr,omitempty"`
	RoundTrip   float64                           `json:"round_trip_ms,omitempty"`
	Queries     int                               `json:"queries"`
	Name        *wire.Untrusted                   `json:"name,omitempty"`
	Version     *wire.Untrusted                   `json:"version,omitempty"`
	Mission     *wire.Untrusted                   `json:"mission,omitempty"`
	Map         *wire.Untrusted                   `json:"map,omitempty"`
	State       *wire.Untrusted                   `json:"state,omitempty"`
	Players     *int                              `json:"players,omitempty"`
	Limit       *int                              `json:"player_limit,omitempty"`
	TimeLimit   *int                              `json:"time_limit,omitempty"`
	FragLimit   *int                              `json:"frag_limit,omitempty"`
	System      *wire.Untrusted                   `json:"system,omitempty"`
	Password    *bool                             `json:"password,omitempty"`
	PlayerNames []wire.Untrusted                  `json:"player_names,omitempty"`
	GameSpy     map[wire.Untrusted]wire.Untrusted `json:"gamespy,omitempty"`
	Complete    bool                              `json:"complete,omitempty"`
	Error       string                            `json:"error,omitempty"`
}

// An Interface is an entry in the list of interfaces.
type Interface struct {
	Number      int      `json:"number"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Addresses   []string `json:"addresses"`
	Up          bool     `json:"up"`
	Connected   bool     `json:"connected"`
	Loopback    bool     `json:"loopback"`
	Default     bool     `json:"default"`
	Openable    bool     `json:"openable"`
	Hint        string   `json:"hint,omitempty"`
}

// A Version is the version as JSON has it.
type Version struct {
	Version string `json:"version"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
	Schema  int    `json:"schema"` // version of docs/json.md
}
