package layout

import "slices"

// A kind is the wire form of a field.
type kind uint8

const (
	u8 kind = iota
	u16
	u32
	i16
	i32
	f32
	bit
	bool8
	enum8
	enum32
	flags8
	object
	hash16
	hash32
	cf16
	ratio8
	percent8
	power8
	dir3
	vec3
	quat
	cv4h
	cv4f
	str8
	str16
	str32
	str32z
	wstr32
	wstrz
	ipv4
	rest // bytes
	list
	group // struct
	kinds // not a kind
)

// A form is the description of a kind.
type form struct {
	name   string
	also   string // the kind's name in docs
	least  int    // minimum bytes
	width  int    // bits of the number in conditions; 0 if not comparable
	signed bool
}

var forms = [kinds]form{
	u8:       {name: "u8", least: 1, width: 8},
	u16:      {name: "u16", least: 2, width: 16},
	u32:      {name: "u32", least: 4, width: 32},
	i16:      {name: "i16", least: 2, width: 16, signed: true},
	i32:      {name: "i32", least: 4, width: 32, signed: true},
	f32:      {name: "f32", least: 4},
	bit:      {name: "bit", width: 1},
	bool8:    {name: "bool8", least: 1, width: 8},
	enum8:    {name: "enum8", least: 1, width: 8},
	enum32:   {name: "enum32", least: 4, width: 32},
	flags8:   {name: "flags8", least: 1, width: 8},
	object:   {name: "object", also: "object id", least: 4, width: 32},
	hash16:   {name: "hash16", least: 2, width: 16},
	hash32:   {name: "hash32", least: 4, width: 32},
	cf16:     {name: "cf16", least: 2},
	ratio8:   {name: "ratio8", least: 1},
	percent8: {name: "percent8", least: 1},
	power8:   {name: "power8", least: 1},
	dir3:     {name: "dir3", also: "cv3", least: 3},
	vec3:     {name: "vec3", also: "3 f32", least: 12},
	quat:     {name: "quat", also: "4 f32", least: 16},
	cv4h:     {name: "cv4h", least: 5},
	cv4f:     {name: "cv4f", least: 7},
	str8:     {name: "str8", least: 1},
	str16:    {name: "str16", least: 2},
	str32:    {name: "str32", least: 4},
	str32z:   {name: "str32z", least: 5},
	wstr32:   {name: "wstr32", least: 4},
	wstrz:    {name: "wstrz", also: "wide text, 00 00", least: 2},
	ipv4:     {name: "ipv4", also: "IPv4", least: 4},
	rest:     {name: "bytes"},
	list:     {name: "list"},
	group:    {name: "struct"},
}

// Kinds returns the names of all kinds.
func Kinds() []string {
	all := make([]string, kinds)
	for k := range forms {
		all[k] = forms[k].name
	}
	return all
}

// kindNamed returns the kind with the given name, either its own or that in
// docs.
func kindNamed(name string) (kind, bool) {
	k := slices.IndexFunc(forms[:], func(f form) bool { return name != "" && (f.name == name || f.also == name) })
	return kind(max(k, 0)), k >= 0
}

func (k kind) enumerated() bool { return k == enum8 || k == enum32 }

// nested reports whether the kind contains fields.
func (k kind) nested() bool { return k == list || k == group }
