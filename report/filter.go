package report

// A FilterError is a mistake in a filter that the user has typed, with its
// position.
type FilterError struct {
	Text   string
	Column int // in characters, from 0
}

// Error implements error.
func (e *FilterError) Error() string { return e.Text }
