{{range .}}| [{{.Name}}](https://pkg.go.dev/{{.Name}}@{{.Version}}?tab=licenses) | {{.Version}} | {{.LicenseName}} |
{{end}}
