package decode_test

import (
	"encoding/json"
	"fmt"
	"log"

	"github.com/bcdissect/bcdissect/decode"
	"github.com/bcdissect/bcdissect/decode/msg"
)

// This example encodes a message from a Go struct.
func ExampleAppend() {
	chat := &msg.Chat{Sender: 2, Text: []byte("Make it so")}
	payload, err := decode.Append(nil, msg.Catalog().Lookup(msg.OpChat), chat, decode.Stock)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%x\n", payload)
	// Output: 2c020000000a004d616b6520697420736f
}

// This example encodes a message from JSON in the form that the program writes.
func ExampleFill() {
	var fields map[string]any
	text := `{"object_id":1073741823,"game_time":1.5,"flags":["SPEED","CLOAK"],"speed":6.25,"cloaked":true}`
	if err := json.Unmarshal([]byte(text), &fields); err != nil {
		log.Fatal(err)
	}
	spec := msg.Catalog().Find("StateUpdate")
	m, _, err := decode.Fill(spec, fields, decode.Filling{Dialect: decode.Stock})
	if err != nil {
		log.Fatal(err)
	}
	update := m.(*msg.StateUpdate)
	update.GameTime = 0
	payload, err := decode.Append(nil, spec, update, decode.Stock)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.2f units a second\n%x\n", update.Speed.Float(), payload)

	delete(fields, "speed")
	_, _, err = decode.Fill(spec, fields, decode.Filling{Dialect: decode.Stock})
	fmt.Println(err)
	// Output:
	// 6.25 units a second
	// 1cffffff3f0000000050544921
	// decode: StateUpdate.speed: the field has no value; add it
}
