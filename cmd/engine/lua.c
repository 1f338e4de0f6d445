// The function that the plugin calls. It uses the Lua and the Wireshark that have
// loaded it, whatever their version: they are looked up in the process, so that the
// library is linked with neither. Lua may leave a C function by longjmp, and a Lua
// built as C++ by an exception. So no function of Lua is called from Go, or while
// Go is running.
#ifdef _WIN32
#include <windows.h>
#define EXPORT __declspec(dllexport)
#else
#define _GNU_SOURCE
#include <dlfcn.h>
#define EXPORT __attribute__((visibility("default")))
#endif
#include "_cgo_export.h"
#include "lua.h"

typedef struct lua_State lua_State;

static const char *(*tolstring)(lua_State *, int, size_t *);
static long long (*tointegerx)(lua_State *, int, int *);
static double (*tonumberx)(lua_State *, int, int *);
static void *(*touserdata)(lua_State *, int);
static void (*pushinteger)(lua_State *, long long);
static const char *(*pushlstring)(lua_State *, const char *, size_t);
static void (*pushnil)(lua_State *);

// Wireshark's buffers: a Tvb of Lua is a pointer to this.
typedef struct tvbuff tvbuff_t;
struct lua_tvb {
	tvbuff_t *tvb;
	unsigned char expired; // up to 4.2 the first byte of an int
};
static tvbuff_t *(*whole)(tvbuff_t *);
static int (*raw_offset)(tvbuff_t *);
static unsigned (*captured)(tvbuff_t *);
static unsigned (*reported)(tvbuff_t *);
static const unsigned char *(*bytes)(tvbuff_t *, int, int);
static void (*name_ipv4)(unsigned, const char *, int);
static void (*name_ipv6)(const void *, const char *, int);

static void *find(const char *name) {
#ifdef _WIN32
	static const char *modules[] = {"lua54.dll", "lua52.dll", "lua5.4.dll", "lua5.2.dll", "libwireshark.dll"};
	for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
		HMODULE m = GetModuleHandleA(modules[i]);
		void *p = m ? (void *)GetProcAddress(m, name) : NULL;
		if (p)
			return p;
	}
	return NULL;
#else
	return dlsym(RTLD_DEFAULT, name);
#endif
}

// resolve finds the functions. It returns the name of one that is missing.
static const char *resolve(void) {
	static const struct {
		void *to;
		const char *name;
	} needed[] = {
		{&tolstring, "lua_tolstring"}, {&tointegerx, "lua_tointegerx"}, {&tonumberx, "lua_tonumberx"},
		{&touserdata, "lua_touserdata"}, {&pushinteger, "lua_pushinteger"}, {&pushlstring, "lua_pushlstring"},
		{&pushnil, "lua_pushnil"}, {&whole, "tvb_get_ds_tvb"}, {&raw_offset, "tvb_raw_offset"},
		{&captured, "tvb_captured_length"}, {&reported, "tvb_reported_length"}, {&bytes, "tvb_get_ptr"},
	};
	for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
		if (!(*(void **)needed[i].to = find(needed[i].name)))
			return needed[i].name;
	name_ipv4 = find("add_ipv4_name"); // without them there are no names of players in the address columns
	name_ipv6 = find("add_ipv6_name");
	return NULL;
}

// bcdissect_name gives an address a name, as a capture can.
void bcdissect_name(unsigned char *address, int size, char *name) {
	unsigned v4;
	if (size == 4 && name_ipv4) {
		__builtin_memcpy(&v4, address, 4);
		name_ipv4(v4, name, 0);
	} else if (size == 16 && name_ipv6) {
		name_ipv6(address, name, 0);
	}
}

static answer last;

// reply pushes the last answer for Lua.
static int reply(lua_State *L) {
	switch (last.status) {
	case STATUS_TEXT:
	case STATUS_OURS:
	case STATUS_LINE:
		pushinteger(L, last.status);
		pushlstring(L, last.text, last.size);
		return 2;
	}
	pushinteger(L, last.status);
	return 1;
}

// dissect takes a Tvb, its length, number, seconds and length of the frame, flags,
// and if the answer before asked for them the addresses and ports.
static int dissect(lua_State *L) {
	struct lua_tvb **of = touserdata(L, 1);
	tvbuff_t *tvb, *data;
	frame f = {0};
	f.len = (int)tointegerx(L, 2, NULL);
	if (!of || !*of || (*of)->expired || !(tvb = (*of)->tvb) || captured(tvb) != (unsigned)f.len || !(data = whole(tvb))) {
		last.status = STATUS_NONE;
		return reply(L);
	}
	f.size = (int)captured(data);
	f.at = raw_offset(tvb);
	f.full = (int)reported(tvb);
	if (f.at < 0 || f.len < 1 || f.at > f.size - f.len) {
		last.status = STATUS_NONE;
		return reply(L);
	}
	f.data = bytes(data, 0, f.size);
	f.number = tointegerx(L, 3, NULL);
	f.seconds = tonumberx(L, 4, NULL);
	f.wire_len = (int)tointegerx(L, 5, NULL);
	f.flags = (int)tointegerx(L, 6, NULL);
	f.src = tolstring(L, 7, NULL);
	f.dst = tolstring(L, 8, NULL);
	f.src_port = (int)tointegerx(L, 9, NULL);
	f.dst_port = (int)tointegerx(L, 10, NULL);
	bcdissectDatagram(&f, &last);
	return reply(L);
}

// bcdissect_engine is the function for package.loadlib. Its first argument is a
// text with a command, or a Tvb with a datagram.
EXPORT int bcdissect_engine(lua_State *L) {
	static int resolved;
	size_t size;
	const char *text;
	if (!resolved) {
		if (resolve())
			return 0; // without lua_pushlstring nothing can be said
		resolved = 1;
	}
	text = tolstring(L, 1, &size);
	if (!text)
		return dissect(L);
	bcdissectCommand((char *)text, size, &last);
	return reply(L);
}
