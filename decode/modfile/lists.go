package modfile

// ReadLists reads a file with one table of lists of texts. Each list has a
// name. The error is an [*Error].
func ReadLists(f File, key string) (all []Setting, _ error) {
	err := f.read(func(r *reader, doc *node) {
		t := r.open(doc, "the file")
		all = r.settings(t, key, (*table).texts)
		t.close()
	})
	return all, err
}
