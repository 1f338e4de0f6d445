package home

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/cmd/internal/query"
	"github.com/bcdissect/bcdissect/decode/wire"
	"github.com/bcdissect/bcdissect/report"
)

// mostServers is the maximum number of stored servers.
const mostServers = 12

// used returns the servers that were used before, the last one first. It skips
// lines with control characters, which the program never writes.
func (h *Home) used() []string {
	text, _ := os.ReadFile(h.servers) // the file may not exist yet
	all := []string{}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && line == report.Escape(line) && len(all) < mostServers {
			all = append(all, line)
		}
	}
	return all
}

// remember moves a server to the front of the list of used servers.
func (h *Home) remember(server string) {
	if h.servers == "" {
		return
	}
	all := slices.DeleteFunc(h.used(), func(s string) bool { return strings.EqualFold(s, server) })
	all = append([]string{server}, all...)
	if err := h.writeServers(all[:min(len(all), mostServers)]); err != nil {
		h.log.Say("couldn't remember the server: %v", cli.PlainPath(h.servers, err))
	}
}

// writeServers replaces the file in one step. A full disk or another running
// program then cannot lose servers.
func (h *Home) writeServers(all []string) error {
	if err := os.MkdirAll(filepath.Dir(h.servers), 0o700); err != nil {
		return err
	}
	draft, err := cli.CreateDraft(h.servers, true, cli.Streams{Graceful: true})
	if err != nil {
		return err
	}
	_, err = draft.WriteString(strings.Join(all, "\n") + "\n")
	if err = errors.Join(err, draft.Close()); err != nil {
		draft.Discard()
		return err
	}
	return draft.Accept()
}

// An offer is a server that was found or used before.
type offer struct {
	Host    string   `json:"host"`
	Used    bool     `json:"used"`
	Name    string   `json:"name,omitempty"`
	Map     string   `json:"map,omitempty"`
	Players *int     `json:"players,omitempty"`
	Limit   *int     `json:"limit,omitempty"`
	Names   []string `json:"names,omitempty"`
	Trip    float64  `json:"trip,omitempty"` // round trip in milliseconds
	Error   string   `json:"error,omitempty"`
}

// A search is the result of searching for servers.
type search struct {
	Servers []offer `json:"servers"`
	Error   string  `json:"error,omitempty"`
}

// look queries the local network and the servers that were used before.
func (h *Home) look(ctx context.Context) *search {
	o := query.Options{Timeout: time.Second, Retries: 1}
	names, hosts := h.used(), []string{}
	names = slices.DeleteFunc(names, func(name string) bool {
		host, err := query.WithPort(name)
		if err == nil {
			hosts = append(hosts, host)
		}
		return err != nil
	})
	var known, found []query.Result
	var err error
	var both sync.WaitGroup
	both.Go(func() {
		defer cli.Guard()
		known = query.All(ctx, hosts, o)
	})
	both.Go(func() {
		defer cli.Guard()
		found, _, err = query.LAN(ctx, query.Networks(), o)
	})
	both.Wait()
	s := &search{Servers: []offer{}}
	if err != nil {
		s.Error = report.Escape("couldn't look on the local network: " + cli.Plain(err).Error())
	}
	for i := range known {
		s.Servers = append(s.Servers, describe(&known[i], names[i], true))
	}
	for i := range found {
		if !slices.ContainsFunc(known, func(r query.Result) bool { return r.Addr == found[i].Addr }) {
			s.Servers = append(s.Servers, describe(&found[i], strings.TrimSuffix(found[i].Host, ":"+query.DefaultPort), false))
		}
	}
	return s
}

// describe prepares a server's answer for the page.
func describe(r *query.Result, name string, used bool) offer {
	d := query.Describe(r)
	text := func(t *wire.Untrusted) string {
		if t == nil {
			return ""
		}
		return t.String()
	}
	s := offer{Host: name, Used: used, Name: text(d.Name), Map: text(d.Map), Players: d.Players, Limit: d.Limit, Trip: d.RoundTrip, Error: report.Escape(d.Error)}
	for _, player := range d.PlayerNames {
		s.Names = append(s.Names, player.String())
	}
	return s
}
