// Not part of the library: package shrink finds a short part of a list that still shows what the whole list shows.
package shrink

// A Search is a search by delta debugging (Zeller and Hildebrandt, 2002).
type Search[T any] struct {
	Shows  func([]T) bool // whether a part of the list, in its order, shows it
	Enough func() bool    // ends the search early; nil for never
	Trials int            // so far
}

// List returns a part of a list that shows the same. If the search isn't ended early, no single
// element can be left out any more. The whole list must show it.
func (s *Search[T]) List(all []T) []T {
	for chunk := (len(all) + 1) / 2; chunk > 0 && len(all) > 0; {
		before := len(all)
		// What comes after the thing that is looked for is most of it as a rule, so the end goes first.
		for end := len(all); end > 0; end -= chunk {
			if s.Enough != nil && s.Enough() {
				return all
			}
			begin := max(0, end-chunk)
			rest := append(all[:begin:begin], all[end:]...)
			if s.Trials++; len(rest) > 0 && s.Shows(rest) {
				all = rest
			}
		}
		if len(all) == before || chunk > 1 {
			if chunk == 1 {
				break
			}
			chunk = (chunk + 1) / 2
		}
	}
	return all
}
