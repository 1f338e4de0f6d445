// Not part of the library: package shrink finds a short part of a list that
// still has a property of the whole list.
package shrink

// A Search is a search by delta debugging (Zeller and Hildebrandt, 2002).
type Search[T any] struct {
	Shows  func([]T) bool // reports whether a part of the list, in its order, has the property
	Enough func() bool    // reports whether to end the search early. It may be nil.
	Trials int            // number of trials so far
}

// List returns a part of a list that has the property. Unless the search ended
// early, no single element of it can be removed. The whole list must have the
// property.
func (s *Search[T]) List(all []T) []T {
	for chunk := (len(all) + 1) / 2; chunk > 0 && len(all) > 0; {
		before := len(all)
		// Usually most of a list comes after what matters, so try to remove the end
		// first.
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
