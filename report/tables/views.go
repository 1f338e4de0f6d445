package tables

import (
	_ "embed" // for the views
	"fmt"
	"io"
	"strings"
)

// views are views in SQL that both engines accept.
//
//go:embed views.sql
var views string

// Views writes SQL that defines the tables at a path and views on them. The
// engine is duckdb or clickhouse. The path is a folder, or its URL in object
// storage.
func Views(w io.Writer, engine, path string, names []string) error {
	for _, name := range names {
		files := "'" + strings.ReplaceAll(path+"/"+name+"/*/part.parquet", "'", "''") + "'"
		from := "read_parquet(" + files + ", union_by_name = true, hive_partitioning = false)"
		if engine == "clickhouse" {
			from = "file(" + files + ", 'Parquet') settings use_hive_partitioning = 0"
			if strings.Contains(path, "://") {
				from = "s3(" + files + ", 'Parquet') settings use_hive_partitioning = 0"
			}
		}
		if _, err := fmt.Fprintf(w, "create or replace view \"%s\" as select * from %s;\n", strings.ReplaceAll(name, "/", "_"), from); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, "\n"+views)
	return err
}
