package match

import (
	"net/netip"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode/wire"
)

// columnNames returns the names of the columns that a type has in an output.
func columnNames(t reflect.Type, output string) (all []string) {
	for _, c := range Columns(t, output) {
		all = append(all, c.Name)
	}
	return all
}

// TestColumns checks names and order in all outputs where they differ.
func TestColumns(t *testing.T) {
	t.Parallel()
	type embeds struct {
		*Shot
		More int `json:"more" page:"="`
	}
	for _, tt := range []struct {
		of     reflect.Type
		output string
		want   []string
	}{
		{reflect.TypeFor[Shot](), JSON, []string{"t", "end", "frame", "player", "player_name", "life", "weapon", "kind", "target_life", "hit", "friendly", "after_end"}},
		{reflect.TypeFor[Shot](), Table, []string{"ts", "t", "end_t", "frame", "player", "player_name", "life", "kind", "weapon_name", "target_life", "hit"}},
		{reflect.TypeFor[Talk](), Page, []string{"t", "frame", "player", "text", "team"}},
		{reflect.TypeFor[embeds](), JSON, []string{"t", "end", "frame", "player", "player_name", "life", "weapon", "kind", "target_life", "hit", "friendly", "after_end", "more"}},
		{reflect.TypeFor[Life](), Table, []string{
			"player", "player_name", "ship", "ship_name", "object_id", "frame", "begin_ts", "end_ts", "begin_t", "end_t",
			"end_how", "begins_late", "max_speed", "updates", "killer", "killer_name",
		}},
	} {
		if got := columnNames(tt.of, tt.output); !slices.Equal(got, tt.want) {
			t.Errorf("%v has in %s\n%q, not\n%q", tt.of, tt.output, got, tt.want)
		}
	}
}

// TestColumnsDocumented wants a sentence for each column of a table, no name
// twice, and the fields that tags name.
func TestColumnsDocumented(t *testing.T) {
	t.Parallel()
	var check func(of reflect.Type, output string)
	check = func(of reflect.Type, output string) {
		seen := map[string]bool{}
		for _, c := range Columns(of, output) {
			if seen[c.Name] || output == Table && c.Doc == "" {
				t.Errorf("%s of %v comes twice in %s, or has no doc", c.Name, of, output)
			}
			seen[c.Name] = true
			for _, name := range c.needs {
				if _, ok := of.FieldByName(name); !ok {
					t.Errorf("%s of %v depends on %s, which does not exist", c.Name, of, name)
				}
			}
			if c.Type.Kind() == reflect.Struct && c.Type != reflect.TypeFor[time.Time]() {
				check(c.Type, output)
			}
		}
		if len(seen) == 0 {
			t.Errorf("%v has no columns in %s", of, output)
		}
	}
	for _, output := range []string{JSON, Page, Table} {
		check(reflect.TypeFor[Match](), output)
	}
}

// TestValues has values that are known, zero, and not known.
func TestValues(t *testing.T) {
	t.Parallel()
	m := &Match{
		Origin: time.Unix(1000, 0), Begin: 2.5, End: 4, Vantage: VantageUnknown, Over: new(float64),
		Players: []Player{{Name: "Ann", Slot: -1}, {Slot: 0, Address: netip.MustParseAddrPort("10.0.0.1:5")}},
	}
	kill := Kill{Victim: 1, Killer: 0, Life: NoLife, At: &[3]float32{1, 2, 3}, Assists: []Assist{{Player: 1, Score: 7}}}
	line := Line{SilenceAt: 9, RTT: time.Second}
	value := func(item any, output, name string) any {
		v := reflect.ValueOf(item).Elem()
		all := Columns(v.Type(), output)
		c := all[slices.IndexFunc(all, func(c Column) bool { return c.Name == name })]
		if v = c.Value(m, v); !v.IsValid() {
			return nil
		}
		return v.Interface()
	}
	for _, tt := range []struct {
		item         any
		output, name string
		want         any
	}{
		{m, JSON, "begin", "1970-01-01T00:16:42.500000Z"},
		{m, JSON, "begin_t", 2.5},
		{m, JSON, "over_t", 0.0},
		{m, JSON, "captured_at", nil},
		{m, Page, "vantage", VantageUnknown},
		{m, Table, "captured_at_host", false},
		{m, Table, "seconds", 1.5},
		{m, Table, "result", "unknown"},
		{m, JSON, "verdict", wire.Untrusted("Unknown: no player scored")},
		{m, Table, "player_limit", nil},
		{&m.Players[0], JSON, "slot", nil},
		{&m.Players[1], JSON, "slot", 0},
		{&m.Players[1], Table, "host_kills", nil},
		{&m.Players[1], Table, "address", "10.0.0.1:5"},
		{&kill, JSON, "killer", 0},
		{&kill, JSON, "killer_name", wire.Untrusted("Ann")},
		{&kill, JSON, "victim_name", nil},
		{&kill, JSON, "life", nil},
		{&kill, Page, "life", NoLife},
		{&kill, Table, "y", float32(2)},
		{&kill, Table, "assist_scores", []int{7}},
		{&line, JSON, "silence_at", nil},
		{&line, Page, "silence_at", 9.0},
		{&line, JSON, "rtt", 1.0},
		{&LinePoint{RTT: -1}, JSON, "rtt", nil},
		{&LinePoint{}, JSON, "rtt", float32(0)},
		{&Condition{Shields: [6]float32{1, 1, -1, 1, 1, 1}}, JSON, "shields", nil},
		{&Finding{Limit: 3}, JSON, "value", 0.0},
		{&Finding{}, JSON, "value", nil},
	} {
		if got := value(tt.item, tt.output, tt.name); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s in %s is %v, not %v", tt.name, tt.output, got, tt.want)
		}
	}
}
