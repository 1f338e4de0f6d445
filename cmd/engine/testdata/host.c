// A host for the engine in place of Wireshark: what the engine looks up in the process,
// of Lua (LUA) and of Wireshark (TVB), and a program (MAIN) that gives it the datagrams
// of a capture, twice. It prints status, size and hash of each answer. The three are one
// program on Linux; on Windows they are lua54.dll, libwireshark.dll and a program.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef _WIN32
#include <windows.h>
#define EXPORT __declspec(dllexport)
#else
#include <dlfcn.h>
#define EXPORT
#endif

// An argument of a call is a text, or a userdata, or a number.
struct value {
	const char *text;
	size_t size;
	void *data;
	double number;
};

typedef struct {
	int count;
	struct value in[10];
	long long status;
	const char *text;
	size_t size;
} lua_State;

typedef struct tvbuff {
	struct tvbuff *whole;
	const unsigned char *data;
	int at;
	unsigned captured, reported;
} tvbuff_t;

#ifdef LUA
static struct value *in(lua_State *L, int i) {
	static struct value none;
	return i <= L->count ? &L->in[i - 1] : &none;
}
EXPORT const char *lua_tolstring(lua_State *L, int i, size_t *size) {
	if (size)
		*size = in(L, i)->size;
	return in(L, i)->text;
}
EXPORT long long lua_tointegerx(lua_State *L, int i, int *ok) { return (long long)in(L, i)->number; }
EXPORT double lua_tonumberx(lua_State *L, int i, int *ok) { return in(L, i)->number; }
EXPORT void *lua_touserdata(lua_State *L, int i) { return in(L, i)->data; }
EXPORT void lua_pushinteger(lua_State *L, long long n) { L->status = n; }
EXPORT void lua_pushnil(lua_State *L) {}
EXPORT const char *lua_pushlstring(lua_State *L, const char *text, size_t size) {
	L->text = text;
	L->size = size;
	return text;
}
#endif

#ifdef TVB
EXPORT tvbuff_t *tvb_get_ds_tvb(tvbuff_t *t) { return t->whole; }
EXPORT int tvb_raw_offset(tvbuff_t *t) { return t->at; }
EXPORT unsigned tvb_captured_length(tvbuff_t *t) { return t->captured; }
EXPORT unsigned tvb_reported_length(tvbuff_t *t) { return t->reported; }
EXPORT const unsigned char *tvb_get_ptr(tvbuff_t *t, int at, int size) { return t->whole->data + t->at + at; }
#endif

#ifdef MAIN
static int (*engine)(lua_State *);

static void fail(const char *what) {
	fprintf(stderr, "host: %s\n", what);
	exit(1);
}

// load finds the engine's function in a library.
static void load(const char *library) {
#ifdef _WIN32
	HMODULE m;
	if (!LoadLibraryA("lua54.dll") || !LoadLibraryA("libwireshark.dll") || !(m = LoadLibraryA(library)))
		fail("a library cannot be loaded");
	engine = (int (*)(lua_State *))GetProcAddress(m, "bcdissect_engine");
#else
	void *m = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	if (!m)
		fail(dlerror());
	engine = (int (*)(lua_State *))dlsym(m, "bcdissect_engine");
#endif
	if (!engine)
		fail("the library has no function bcdissect_engine");
}

// print prints an answer: its hash is FNV-1a.
static void print(int results, lua_State *L) {
	uint64_t hash = 14695981039346656037u;
	size_t size = results > 1 ? L->size : 0;
	for (size_t i = 0; i < size; i++)
		hash = (hash ^ (unsigned char)L->text[i]) * 1099511628211u;
	printf("%d %d %d %08x%08x\n", results, (int)L->status, (int)size, (unsigned)(hash >> 32), (unsigned)hash);
}

static void command(const char *text) {
	lua_State L = {1, {{text, strlen(text)}}};
	print(engine(&L), &L);
}

static uint32_t little(const unsigned char *p) { return p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24; }

// datagrams gives the engine all frames: Ethernet, IPv4, UDP.
static void datagrams(const unsigned char *b, size_t size, int flags) {
	int number = 0;
	for (size_t at = 24; at + 16 <= size;) {
		const unsigned char *frame = b + at + 16;
		uint32_t captured = little(b + at + 8), wire = little(b + at + 12);
		int payload = 14 + (frame[14] & 15) * 4 + 8;
		tvbuff_t whole = {&whole, frame, 0, captured, wire}, udp = {&whole, frame, payload, captured - payload, wire - payload};
		struct {
			tvbuff_t *tvb;
			unsigned char expired;
		} lua = {&udp, 0}, *of = &lua;
		lua_State L = {6, {{NULL, 0, &of}}};
		L.in[1].number = udp.captured;
		L.in[2].number = ++number;
		L.in[3].number = little(b + at) + little(b + at + 4) / 1e6;
		L.in[4].number = wire;
		L.in[5].number = flags;
		print(engine(&L), &L);
		at += 16 + captured;
	}
}

int main(int argc, char **argv) {
	static unsigned char b[1 << 24];
	if (argc != 3)
		fail("it takes the engine and a capture");
	FILE *f = fopen(argv[2], "rb");
	if (!f)
		fail("the capture cannot be opened");
	size_t size = fread(b, 1, sizeof b, f);
	load(argv[1]);
	command("sum");
	command("reset");
	datagrams(b, size, 0);
	datagrams(b, size, 3); // again, all fields
	command("report session");
	return 0;
}
#endif
