package main

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The file has the texts of Go's standard library and of all modules that
// docs/licences.md lists, in the same versions.
func TestLinked(t *testing.T) {
	t.Chdir("../../../..")
	all, err := linked("./cmd/bcdissect", []string{"linux", "windows", "darwin"})
	if err != nil {
		t.Skipf("the modules cannot be listed: %v", err)
	}
	has := func(of string) bool {
		for _, l := range all {
			if strings.HasPrefix(l.of, of) && regexp.MustCompile(`(?i)permission|redistribution|licensed? `).MatchString(l.text) {
				return true
			}
		}
		return false
	}
	page, err := os.ReadFile("docs/licences.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile(`(?m)^\| \[([^]]+)\]\([^)]+\) \| (v[^ ]+) \|`).FindAllStringSubmatch(string(page), -1)
	if len(rows) < 30 || !has("Go library go1.") {
		t.Fatalf("%d rows, %d texts", len(rows), len(all))
	}
	for _, row := range rows {
		found := false // the row names the module, or a part of it
		for name := row[1]; !found && name != "."; name = path.Dir(name) {
			found = has(name + " " + row[2])
		}
		if !found {
			t.Errorf("%s %s: no text", row[1], row[2])
		}
	}
}

// A licence without a copyright holder has the notices of its source.
func TestNotices(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"License": "One or the other: BSD, permitted.\n\n" + gpl + "\n Copyright (C) 1989 Free Software Foundation\n",
		"a.c":     "/*\n * Copyright (c) 2019,24 Ada\n */\nint a;\n",
		"b.go":    "// Copyright (c) 2021 Bob\n// Copyright (c) 2019,24 Ada\npackage b\n\nconst text = `Copyright (c) nobody`\n",
		"c.txt":   "Copyright (c) 2000 Cy\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all := map[string][]licence{}
	if err := collect(all, "example.org/a v1.0.0", folder); err != nil {
		t.Fatal(err)
	}
	const want = "Copyright (c) 2019,24 Ada\nCopyright (c) 2021 Bob\n\nOne or the other: BSD, permitted.\n"
	if got := all["example.org/a v1.0.0"]; len(got) != 1 || !strings.HasPrefix(got[0].text, want) {
		t.Errorf("got %+v", got)
	}
	if err := os.WriteFile(filepath.Join(folder, "License"), []byte("Copyright 2022 Dan\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := collect(all, "example.org/b v1.0.0", folder); err != nil || all["example.org/b v1.0.0"][0].text != "Copyright 2022 Dan\n" {
		t.Errorf("got %+v, %v", all["example.org/b v1.0.0"], err)
	}
}

func TestForDebian(t *testing.T) {
	got := string(forDebian([]licence{
		{"example.org/a v1.0.0", "LICENSE", "Title\n\n  Copyright (c) 2020 Ada\nCopyright 2021 Bob\nCopyright [yyyy] [name]\n\nPermission is granted.\n"},
		{"example.org/b v0.1.0, part", "COPYING", "    Apache License\n  Version 2.0, January 2004\n\nMuch\naccepting any such warranty or additional liability.\n\n  END OF TERMS AND CONDITIONS\n"},
		{"example.org/c v0.2.0", "License", "One or the other:\n\nBSD: permitted.\n\n   GNU GENERAL PUBLIC LICENSE\n  Version 2, June 1991\n\n Copyright (C) 1989 Free Software Foundation\n\nMuch\n\n  END OF TERMS AND CONDITIONS\n\n  How to Apply These Terms to Your New Programs\n\nPublic License instead of this License.\n\nMIT: granted.\n"},
		{"example.org/d v0.3.0", "COPYING", "  GNU GENERAL PUBLIC LICENSE\n  Version 2, June 1991\n\n  END OF TERMS AND CONDITIONS\n\nCopyright 2022 Cy\n"},
	}))
	const want = `
Files: example.org/a-v1.0.0/*
Copyright: 2020 Ada
 2021 Bob
License: LICENSE-of-example.org/a-v1.0.0
 Title
 .
   Copyright (c) 2020 Ada
 Copyright 2021 Bob
 Copyright [yyyy] [name]
 .
 Permission is granted.

Files: example.org/b-v0.1.0--part/*
Copyright: the authors of example.org/b v0.1.0, part
License: COPYING-of-example.org/b-v0.1.0--part
 The Apache License, version 2.0, is in /usr/share/common-licenses/Apache-2.0.

Files: example.org/c-v0.2.0/*
Copyright: the authors of example.org/c v0.2.0
License: License-of-example.org/c-v0.2.0
 One or the other:
 .
 BSD: permitted.
 .
 The GNU General Public License, version 2, is in /usr/share/common-licenses/GPL-2.
 .
 MIT: granted.

Files: example.org/d-v0.3.0/*
Copyright: 2022 Cy
License: COPYING-of-example.org/d-v0.3.0
 The GNU General Public License, version 2, is in /usr/share/common-licenses/GPL-2.
 .
 Copyright 2022 Cy
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
