package partitions

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/bcdissect/bcdissect/cmd/internal/cli"
	"github.com/bcdissect/bcdissect/report/tables"
)

// printViews prints the views for a folder, which may be in object storage.
func (f *Flags) printViews(s cli.Streams, on *folder) error {
	if on.csv() {
		return errors.New("--views: for Parquet only; drop -T csv")
	}
	var names []string
	for _, t := range tables.Tables(nil) {
		if dir := filepath.Join(on.path, filepath.FromSlash(t.Name)); !strings.Contains(t.Name, "/") || isDir(dir) {
			names = append(names, t.Name)
		}
	}
	path := on.path
	if !strings.Contains(path, "://") {
		var err error
		if path, err = filepath.Abs(path); err != nil {
			return cli.Failed(err)
		}
	}
	return cli.WriteOutput("", s, func(out *cli.Output) error {
		return tables.Views(out, f.views.Value, filepath.ToSlash(path), names)
	})
}

func isDir(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}
