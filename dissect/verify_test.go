package dissect_test

import (
	"strings"
	"testing"
	"time"

	"github.com/bcdissect/bcdissect/decode/msg"
	"github.com/bcdissect/bcdissect/dissect"
	"github.com/bcdissect/bcdissect/fixtures/recorded"
)

// TestVerify: every message of every capture is rewritten byte for byte, and
// every intact datagram is enciphered to the same bytes.
func TestVerify(t *testing.T) {
	messages, datagrams := 0, 0
	for _, name := range captures(t) {
		t.Run(name, func(t *testing.T) {
			var v dissect.Verifier
			recorded.Records(t, name, dissect.Config{}, func(r *dissect.Record) {
				if text := v.Check(r); text != "" {
					t.Errorf("frame %d, message %d: %s", r.Datagram.Number, r.Part, text)
				}
			})
			messages += v.Messages
			datagrams += v.Datagrams
		})
	}
	if messages < 80000 || datagrams < 40000 {
		t.Errorf("only %d messages and %d datagrams were encoded again", messages, datagrams)
	}
}

// Verifier detects a message that does not match its bytes.
func TestVerifyFindsDifferences(t *testing.T) {
	f := newFeed(t, dissect.Config{})
	var v dissect.Verifier
	check := func(plain string, spoil func(*dissect.Record)) string {
		t.Helper()
		text := ""
		f.check = func(r *dissect.Record) {
			spoil(r)
			text += v.Check(r)
		}
		f.push(client, host, time.Duration(f.n)*time.Second, plain)
		return text
	}
	const chat = "02 01 32 11 80 01 00 2c 02 00 00 00 05 00 68 65 6c 6c 6f"
	if text := check(chat, func(*dissect.Record) {}); text != "" {
		t.Errorf("as it is: %s", text)
	}
	text := check(strings.Replace(chat, "01 00 2c", "02 00 2c", 1), func(r *dissect.Record) {
		r.Message.(*msg.Chat).Text = []byte("hullo")
	})
	if !strings.HasPrefix(text, "Chat is encoded as") {
		t.Errorf("another text: got %q", text)
	}
	text = check(strings.Replace(chat, "01 00 2c", "03 00 2c", 1), func(r *dissect.Record) { r.Transport.Seq++ })
	if !strings.HasPrefix(text, "the message is built again as") {
		t.Errorf("another number: got %q", text)
	}
	text = check(strings.Replace(chat, "01 00 2c", "04 00 2c", 1), func(r *dissect.Record) { r.Peer++ })
	if !strings.HasPrefix(text, "the datagram is built again as") {
		t.Errorf("another sender: got %q", text)
	}
	if v.Differ != 3 {
		t.Errorf("%d differ, want 3", v.Differ)
	}
}

// A datagram with fewer messages than announced is malformed. Its messages are
// compared, the datagram cannot be.
func TestVerifyMissingMessages(t *testing.T) {
	f := newFeed(t, dissect.Config{})
	var v dissect.Verifier
	malformed := 0
	f.check = func(r *dissect.Record) {
		if r.Status == dissect.StatusMalformed {
			malformed++
		}
		if text := v.Check(r); text != "" {
			t.Errorf("message %d: %s", r.Part, text)
		}
	}
	f.push(client, host, 0, "02 01 32 11 80 01 00 2c 02 00 00 00 05 00 68 65 6c 6c 6f") // makes the conversation known
	f.push(client, host, time.Second, "02 03 32 11 80 02 00 2c 02 00 00 00 05 00 68 65 6c 6c 6f")
	if malformed != 1 || v.Messages != 2 || v.Datagrams != 1 || v.Differ != 0 {
		t.Errorf("%d malformed, %d messages, %d datagrams, %d differ", malformed, v.Messages, v.Datagrams, v.Differ)
	}
}
