package conform

// A keyed has waiting messages by key, each list in the order in which they
// were added.
type keyed[M interface{ finished() bool }] map[uint64][]M

func (x *expect) finished() bool { return x.done }
func (g *got) finished() bool    { return g.done }

func (k keyed[M]) add(key uint64, m M) { k[key] = append(k[key], m) }

// drop removes finished messages with a key from the front of their list. It
// forgets the key once the list is empty.
func (k keyed[M]) drop(key uint64) {
	list := k[key]
	for len(list) > 0 && list[0].finished() {
		clear(list[:1])
		list = list[1:]
	}
	if k[key] = list; len(list) == 0 {
		delete(k, key)
	}
}
