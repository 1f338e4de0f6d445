package filter

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestErrors checks the errors for wrong expressions and the place of the mark.
func TestErrors(t *testing.T) {
	for _, tt := range []struct{ expr, mark, reason string }{
		// Names.
		{
			`sped > 5`,
			`^~~~`,
			`there is no field, message or key sped; did you mean speed, seq or set?`,
		},
		{
			`name == Chat and StateUpdate.sped > 5`,
			`                             ^~~~`,
			`StateUpdate has no field sped; did you mean speed?`,
		},
		{
			`fields.tagret == 1`,
			`       ^~~~~~`,
			`no message has a field tagret; did you mean target, target_id or target_name?`,
		},
		{
			`TorpedoFyre.target`,
			`^~~~~~~~~~~~~~~~~~`,
			`there is no field, message or key TorpedoFyre.target; did you mean TorpedoFire.target?`,
		},
		{
			`name_hash == 5`,
			`^~~~~~~~~`,
			`there is no field, message or key name_hash; did you mean files.name_hash, subdirs.name_hash or trees.files.name_hash?`,
		},
		{
			`xyzzy_plugh`,
			`^~~~~~~~~~~`,
			`there is no field, message or key xyzzy_plugh`,
		},
		{
			`Unused05.x == 1`,
			`         ^`,
			`Unused05 has no fields: its layout is unknown`,
		},
		{
			`GameInit.x == 1`,
			`         ^`,
			`GameInit has no fields`,
		},
		{
			`name == TorpedoFyre`,
			`        ^~~~~~~~~~~`,
			`there is no message TorpedoFyre; did you mean TorpedoFire?`,
		},
		{
			`name == Connect`,
			`        ^~~~~~~`,
			`Connect is a transport message without a name in records: write only Connect`,
		},
		{
			`species == Akirra`,
			`           ^~~~~~`,
			`species is never Akirra; did you mean Akira?`,
		},
		{
			`reason == "time upp"`,
			`          ^~~~~~~~~~`,
			`reason is never time upp; did you mean "time up"?`,
		},
		{
			`kind == akc`,
			`        ^~~`,
			`kind is never akc; did you mean ack?`,
		},
		{
			`dir in {c2s, sideways}`,
			`             ^~~~~~~~`,
			`dir is never sideways; it is one of unknown, c2s, s2c`,
		},
		{
			`flags & SUBSYTEMS`,
			`        ^~~~~~~~~`,
			`flags is never SUBSYTEMS; did you mean SUBSYSTEMS?`,
		},

		// Types.
		{
			`Chat[0] == 1`,
			`^~~~~~~`,
			`Chat is a message and has no value`,
		},
		{
			`GameInit == 1`,
			`^~~~~~~~`,
			`GameInit is a message and has no value; did you mean name?`,
		},
		{
			`flags & 0x100000000`,
			`        ^~~~~~~~~~~`,
			`bits must be a number from 0 to 0xFFFFFFFF`,
		},
		{
			`flags & -1`,
			`        ^~`,
			`bits must be a number from 0 to 0xFFFFFFFF`,
		},
		{
			`len(error.reason)`,
			`    ^~~~~~~~~~~~`,
			`compare the length with a number`,
		},
		{
			`len(error.reason[0]) == 1`,
			`    ^~~~~~~~~~~~~~~`,
			`len is for whole values, not for a part of one`,
		},
		{
			`len(residue[0]) == 1`,
			`    ^~~~~~~~~~`,
			`a byte has no length`,
		},
		{
			`len(body[0]) == 1`,
			`    ^~~~~~~`,
			`body[0] is bytes and has no length`,
		},
		{
			`subsystems.entries.children[1] & 1`,
			`                                 ^`,
			`subsystems.entries.children[1] is not a whole number: & needs one`,
		},
		{
			`residue == 0x`,
			`           ^~`,
			`residue is bytes, such as 0a0b or 0a:0b, or a text in quotes`,
		},
		{
			`payload contains "Ā"`,
			`                 ^~~`,
			`the text has characters outside Windows-1252`,
		},
		{
			`text contains "\q"`,
			`               ^~`,
			`in a text, \ begins \", \\, \n, \r, \t, \x41 or \u0041`,
		},
		{
			`ip == 10.0.0.3:0`,
			`      ^~~~~~~~~~`,
			`ip is an address without a port`,
		},
		{
			`src in {10.0.0.1:0..10.0.0.3}`,
			`        ^~~~~~~~~~~~~~~~~~~~`,
			`a range needs plain addresses`,
		},
		{
			`src in {10.0.0.1..10.0.0.3:0}`,
			`        ^~~~~~~~~~~~~~~~~~~~`,
			`a range needs plain addresses`,
		},
		{
			`ts > 1678-06-01`, // a time of 64 bits begins in 1677 and ends in 2262
			`     ^~~~~~~~~~`,
			`ts is a time, such as 2002-03-01T20:00:00Z`,
		},
		{
			`ts > 2262-01-01`,
			`     ^~~~~~~~~~`,
			`ts is a time, such as 2002-03-01T20:00:00Z`,
		},
		{
			`rel > 1e300`,
			`      ^~~~~`,
			`rel is a number of seconds, such as 12.5, 1m30s or 00:01:30`,
		},
		{
			`rel > 9223372036.854775808e0`, // 2^63 ns
			`      ^~~~~~~~~~~~~~~~~~~~~~`,
			`rel is a number of seconds, such as 12.5, 1m30s or 00:01:30`,
		},

		// Types.
		{
			`speed > "fast"`,
			`        ^~~~~~`,
			`speed is a number, not text`,
		},
		{
			`speed > fast`,
			`        ^~~~`,
			`fast is not a number (speed is numeric)`,
		},
		{
			`speed > "5"`,
			`        ^~~`,
			`speed is a number, not text; did you mean 5?`,
		},
		{
			`speed contains "5"`,
			`      ^~~~~~~~`,
			`speed is a number: contains is for text and bytes`,
		},
		{
			`speed & 4`,
			`        ^`,
			`speed is not a whole number: & needs one`,
		},
		{
			`flags & 1.5`,
			`        ^~~`,
			`bits must be a number from 0 to 0xFFFFFFFF`,
		},
		{
			`text == 5`,
			`        ^`,
			`text is text, not a number; did you mean "5"?`,
		},
		{
			`text < "b"`,
			`     ^`,
			`text is text: < is for numbers and times`,
		},
		{
			`text & 1`,
			`       ^`,
			`text is text: & is for whole numbers`,
		},
		{
			`text in {"a".."b"}`,
			`         ^~~~~~~~`,
			`text is text: a range needs numbers`,
		},
		{
			`player == name`,
			`          ^~~~`,
			`name is a field: fields cannot be compared with each other; did you mean "name"?`,
		},
		{
			`kills > Score.deaths`,
			`        ^~~~~~~~~~~~`,
			`Score.deaths is a field: fields cannot be compared with each other`,
		},
		{
			`position == 3`,
			`^~~~~~~~`,
			`position is a vector: compare one of its components; did you mean position.x, position.y or position.z?`,
		},
		{
			`position[3] == 3`,
			`^~~~~~~~~~~`,
			`position is a vector and has no [3]`,
		},
		{
			`subsystems.entries[0].condition == 3`,
			`                  ^~~~~~~~~~~~~`,
			`an index must be at the end; a path into a list covers all its elements`,
		},
		{
			`shields == 5`,
			`^~~~~~~`,
			`shields is a group of fields: name one of its fields; did you mean shields.bottom, shields.front or shields.left?`,
		},
		{
			`ack == 5`,
			`^~~`,
			`ack has no value: compare ack.seq, ack.kind or ack.index`,
		},
		{
			`Chat == "x"`,
			`^~~~`,
			`Chat is a message and has no value; did you mean name or Chat.sender?`,
		},
		{
			`has_hash == maybe`,
			`            ^~~~~`,
			`has_hash is true or false, not maybe; did you mean true or false?`,
		},
		{
			`species > Akira`,
			`          ^~~~~`,
			`names have no order: write a number`,
		},
		{
			`kind > ack`,
			`     ^`,
			`kind is a word: > is for numbers and times`,
		},
		{
			`src == 10.0.0.300`,
			`       ^~~~~~~~~~`,
			`src is an address, such as 10.0.0.5, 10.0.0.0/8 or 10.0.0.5:22101`,
		},
		{
			`ip == 10.0.0.3:5`,
			`      ^~~~~~~~~~`,
			`ip is an address without a port`,
		},
		{
			`ts > yesterday`,
			`     ^~~~~~~~~`,
			`ts is a time, such as 2002-03-01T20:00:00Z`,
		},
		{
			`rel > soon`,
			`      ^~~~`,
			`rel is a number of seconds, such as 12.5, 1m30s or 00:01:30`,
		},
		{
			`residue == xyz`,
			`           ^~~`,
			`residue is bytes, such as 0a0b or 0a:0b, or a text in quotes`,
		},
		{
			`len(speed) == 5`,
			`    ^~~~~`,
			`speed is a number and has no length`,
		},
		{
			`len(text)`,
			`    ^~~~`,
			`compare the length with a number`,
		},
		{
			`speed in {NaN}`,
			`          ^~~`,
			`NaN cannot be ordered or be in a set`,
		},
		{
			`speed in {5..1}`,
			`          ^~~~`,
			`the range is empty`,
		},
		{
			`text matches "(["`,
			`             ^~~~`,
			`not a regular expression: missing closing ]: [`,
		},
		{
			`text matches "(a{900}){900}"`,
			`             ^~~~~~~~~~~~~~~`,
			`not a regular expression: invalid repeat count: {900}`,
		},
		{
			`text matches "a{900}b{900}"`,
			`             ^~~~~~~~~~~~~~`,
			`the regular expression is too large`,
		},
		{
			`text contains "a\qb"`,
			`                ^~`,
			`in a text, \ begins \", \\, \n, \r, \t, \x41 or \u0041`,
		},

		// Syntax.
		{
			`kind == ack-`,
			`           ^`,
			`unexpected character`,
		},
		{
			`kind == ack- `,
			`           ^`,
			`unexpected character`,
		},
		{
			`rel > 1e5+`,
			`         ^`,
			`unexpected character`,
		},
		{
			`rel > 1e5+*`,
			`         ^`,
			`unexpected character`,
		},
		{
			`text >= "b"`,
			`     ^~`,
			`text is text: >= is for numbers and times`,
		},
		{
			`speed > .`,
			`        ^`,
			`unexpected character`,
		},
		{
			`speed > .x`,
			`        ^`,
			`unexpected character`,
		},
		{
			`body[2*] == 3`,
			`    ^`,
			`unexpected character`,
		},
		{
			`speed 5 "abc`, // the first mistake, not the quotation mark
			`      ^`,
			`expected and, or, or a comparison before this`,
		},
		{
			`x234567890123456789012345678901234567890`,
			`^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~`,
			`there is no field, message or key x234567890123456789012345678901234567890`,
		},
		{
			`x2345678901234567890123456789012345678901`,
			`^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~`,
			`there is no field, message or key x234567890123456789012345678901234567890...`,
		},
		{
			``,
			`^`,
			`the expression is empty`,
		},
		{
			`speed > 1 and`,
			`             ^`,
			`expected a field, but the expression ends`,
		},
		{
			`speed >`,
			`       ^`,
			`expected a value, but the expression ends`,
		},
		{
			`name = Chat`,
			`     ^`,
			`= is not known; did you mean ==?`,
		},
		{
			`speed > 1 | speed < 2`,
			`          ^`,
			`| is not known; did you mean ||?`,
		},
		{
			`(speed > 1`,
			`^`,
			`this is never closed`,
		},
		{
			`speed > 1)`,
			`         ^`,
			`there is no matching (`,
		},
		{
			`speed 5`,
			`      ^`,
			`expected and, or, or a comparison before this`,
		},
		{
			`text contans "x"`,
			`     ^~~~~~~`,
			`there is no operator contans; did you mean contains?`,
		},
		{
			`name == Chat name == Chat`,
			`             ^~~~`,
			`expected and, or, or a comparison before this`,
		},
		{
			`(speed > 5) > 3`,
			`            ^`,
			`the left side is true or false and has no value to compare`,
		},
		{
			`1 < speed < 3`,
			`          ^`,
			`comparisons do not chain: join them with and`,
		},
		{
			`speed > and`,
			`        ^~~`,
			`and is not a number (speed is numeric)`,
		},
		{
			`and speed`,
			`^~~`,
			`expected a field, not and`,
		},
		{
			`speed in {}`,
			`          ^`,
			`expected a value, not }`,
		},
		{
			`speed in {1 & 2}`,
			`            ^`,
			`expected , or }`,
		},
		{
			`speed in 5`,
			`         ^`,
			`expected { and values`,
		},
		{
			`trim(text) == "x"`,
			`^~~~`,
			`there is no function trim; did you mean len, upper or lower?`,
		},
		{
			`fram == 1`,
			`^~~~`,
			`there is no field, message or key fram; did you mean frame, team or frame.len?`,
		},
		{
			`ip.sorce == 10.0.0.5`,
			`^~~~~~~~`,
			`there is no field, message or key ip.sorce; did you mean ip.src?`,
		},
		{
			`upper(speed) == "X"`,
			`      ^~~~~`,
			`speed is a number: upper and lower are for text`,
		},
		{
			`upper(species) == "AKIRA"`,
			`      ^~~~~~~`,
			`species is a number: upper and lower are for text; did you mean species_name?`,
		},
		{
			`lower(residue) == "x"`,
			`      ^~~~~~~`,
			`residue is bytes: upper and lower are for text`,
		},
		{
			`frame[0:2] == 1`,
			`^~~~~~~~~~`,
			`frame[0:2] is a number: slices are for text and bytes`,
		},
		{
			`text[0:2:3] == "x"`,
			`    ^~~~~~~`,
			`a slice is [start:length], [first-last], [start:] or [:length]`,
		},
		{
			`text[:-1] == "x"`,
			`    ^~~~~`,
			`a slice is [start:length], [first-last], [start:] or [:length]`,
		},
		{
			`len(text[0:2]) == 2`,
			`        ^~~~~`,
			`len is for whole values, not for a part of one`,
		},
		{
			`upper(text)`,
			`      ^~~~`,
			`compare it with a text, such as == "a"`,
		},
		{
			`gamespy.numplayers > many`,
			`                   ^`,
			`gamespy.numplayers is text: > is for numbers and times`,
		},
		{
			`text contains "abc`,
			`              ^~~~`,
			`a text without a closing "`,
		},
		{
			`sped > 5 and text contains "abc`,
			`                           ^~~~`,
			`a text without a closing "`,
		},
		{
			`speed > 5 ; x`,
			`          ^`,
			`unexpected character`,
		},
		{
			"text == \"\u00e9\u00e9\" and b\u00e4d == 1",
			`                 ^~~`,
			"there is no field, message or key b\u00e4d",
		},
		{
			"speed\t> \"x\"",
			`        ^~~`,
			`speed is a number, not text`,
		},
		{
			"speed > \xff",
			`        ^`,
			`the expression is not UTF-8 here`,
		},
	} {
		t.Run(tt.expr, func(t *testing.T) {
			_, err := Compile(tt.expr, nil)
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("got %v", err)
			}
			shown, mark, _ := strings.Cut(e.Caret(), "\n")
			if mark != tt.mark || e.Reason() != tt.reason {
				t.Errorf("got\n%s\n%s\n%s\nwant\n%s\n%s", shown, mark, e.Reason(), tt.mark, tt.reason)
			}
			if e.Column != strings.IndexByte(tt.mark, '^')+1 || e.Length != len(strings.TrimSpace(tt.mark)) {
				t.Errorf("got column %d, length %d", e.Column, e.Length)
			}
			if want := utf8.RuneCountInString(tt.expr); utf8.RuneCountInString(shown) != want || strings.ContainsAny(shown, "\t\r") {
				t.Errorf("shows %q", shown)
			}
		})
	}
}

func TestErrorText(t *testing.T) {
	_, err := Compile(`speed > 1 and tagret == 5`, nil)
	if want := `filter: column 15: there is no field, message or key tagret; did you mean target, target_id or target_name?`; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// TestLongCaret checks that Caret shows only the relevant part of a long
// expression.
func TestLongCaret(t *testing.T) {
	before, after := strings.Repeat("speed > 1 and ", 300), strings.Repeat(" or speed > 2", 300)
	_, err := Compile(before+"sped == 5"+after, nil)
	var e *Error
	if !errors.As(err, &e) || e.Column != len(before)+1 {
		t.Fatalf("got %v", err)
	}
	shown, mark, _ := strings.Cut(e.Caret(), "\n")
	at := strings.IndexByte(mark, '^')
	if len(shown) > 2*60+6 || !strings.HasPrefix(shown, "...") || !strings.HasSuffix(shown, "...") || !strings.HasPrefix(shown[at:], "sped ==") {
		t.Errorf("got\n%s\n%s", shown, mark)
	}
}

// TestCaretWindow checks how much is shown of an expression around the mistake.
func TestCaretWindow(t *testing.T) {
	const dots = "..."
	text := func(n int) string { return strings.Repeat("0123456789", n/10+1)[:n] }
	for _, tt := range []struct {
		name                 string
		size, column, length int
		shown                string
		before, marked       int
	}{
		{"all", 2 * 60, 1, 500, text(120), 0, 120},
		{"all, the last", 2 * 60, 120, 1, text(120), 119, 1},
		{"all, to its end", 100, 91, 500, text(100), 90, 10},
		{"one more, at its start", 2*60 + 1, 1, 500, text(60) + dots, 0, 60},
		{"one more, at its end", 2*60 + 1, 121, 1, dots + text(121)[60:], 3 + 60, 1},
		{"one more, in the middle", 2*60 + 1, 71, 500, dots + text(121)[10:], 3 + 60, 51},
		{"long", 1000, 501, 7, dots + text(560)[440:] + dots, 3 + 60, 7},
		{"long, to its end", 1000, 501, 500, dots + text(560)[440:] + dots, 3 + 60, 60},
	} {
		e := Error{Expr: text(tt.size), Column: tt.column, Length: tt.length}
		want := tt.shown + "\n" + strings.Repeat(" ", tt.before) + "^" + strings.Repeat("~", tt.marked-1)
		if got := e.Caret(); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.name, got, want)
		}
	}
}

// TestLimits checks the limits on expressions.
func TestLimits(t *testing.T) {
	values := func(n int) string { return "speed in {1" + strings.Repeat(",2", n-1) + "}" }
	for _, tt := range []struct {
		name, expr, reason string
	}{
		{"length", strings.Repeat(" ", maxExpr) + "x", "the expression has 65537 bytes; the limit is 65536"},
		{"depth", strings.Repeat("(", maxDepth+1) + "x" + strings.Repeat(")", maxDepth+1), "more than 100 nested parentheses"},
		{"open", strings.Repeat("(", 60000), "more than 100 nested parentheses"},
		{"tests", strings.Repeat("up or ", maxTests) + "up", "more than 1000 comparisons"},
		{"tests, value first", strings.Repeat("1 < speed or ", maxTests) + "1 < speed", "more than 1000 comparisons"},
		{"values", values(maxValues + 1), "more than 1000 values in a set"},
		{"pattern", `text ~ "` + strings.Repeat("a", maxPattern+1) + `"`, "the regular expression has 1001 bytes; the limit is 1000"},
		{"patterns", strings.Repeat(`text ~ "a{900}" or `, 6) + "up", "the regular expression is too large"},
		{"index", "residue[99999] == 1", "the index is too large for any field"},
		{"index, by one", "residue[65537] == 1", "the index is too large for any field"},
		{"program", `text ~ "a{999}"`, "the regular expression is too large"}, // and an instruction to begin and one to end
		{"programs, by one", strings.Repeat(`text ~ "a{998}" or `, 5) + `text ~ a`, "the regular expression is too large"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := compile(tt.expr, shared)
			if err == nil || err.Reason() != tt.reason {
				t.Fatalf("got %v", err)
			}
			if len(err.Caret()) > 10*60 {
				t.Errorf("got %d bytes to show", len(err.Caret()))
			}
		})
	}
	r := sample(t, "1c-client-9d")
	for _, expr := range []string{
		strings.Repeat("(", maxDepth) + "up" + strings.Repeat(")", maxDepth),
		strings.Repeat("not ", 10000) + "up",
		strings.Repeat("!", 60000) + "up",
		strings.Repeat("up and ", maxTests-1) + "up",
		values(maxValues) + " or up",
		"up" + strings.Repeat(" ", maxExpr-2),
		strings.Repeat("1 < speed or ", maxTests-1) + "up",
		strings.Repeat("up or ", maxTests-1) + "1 < speed",
		strings.Repeat("(up) and ", maxDepth+1) + "up",
		strings.Repeat("(flags) & 0x40 or ", maxTests-1) + "up",
		`text ~ "[` + strings.Repeat("a", maxPattern-2) + `]" or up`,
		strings.Repeat(`text ~ "a{998}" or `, 5) + "up",
		"residue[65536] == 1 or up",
	} {
		if !must(t, expr).Match(r) {
			t.Errorf("%.20s... does not hold", expr)
		}
	}
}
