-- A dissector of the game's datagrams for tshark, as one would write it who has
-- no other program: it deciphers, splits and counts opcodes. It is what
-- bcdissect is compared with; see docs/performance.md.
--
--   BC_CIPHER=plain tshark -n -q -X lua_script:docs/bench/bc.lua -r play.pcap
--
-- BC_CIPHER chooses the form of the cipher: plain is the algorithm as it is
-- described, step by step; table looks up what depends on one byte alone.

local bit = bit or require("bit")
local band, bxor, rshift = bit.band, bit.bxor, bit.rshift

local KEY = { 0x41, 0x6C, 0x62, 0x79, 0x52, 0x75, 0x6C, 0x65, 0x73, 0x21 }

-- Each form deciphers the bytes b[2..n] of a datagram in place.

local function plain(b, n)
	local k = { KEY[1], KEY[2], KEY[3], KEY[4], KEY[5], KEY[6], KEY[7], KEY[8], KEY[9], KEY[10] }
	local s, a = 0, 0
	for at = 2, n do
		local mix, prev = 0, 0
		for i = 0, 4 do
			local w = bxor(k[2 * i + 1] * 256 + k[2 * i + 2], prev)
			local t1 = band((a + i) * 0x4E35, 0xFFFF)
			local t2 = band(w * 0x015A, 0xFFFF)
			a = band(s + t1 + t2, 0xFFFF)
			s = t2
			w = band(w * 0x4E35 + 1, 0xFFFF)
			mix = bxor(mix, w, a)
			prev = w
		end
		local p = bxor(b[at], band(bxor(mix, rshift(mix, 8)), 0xFF))
		b[at] = p
		for i = 1, 10 do
			k[i] = bxor(k[i], p)
		end
	end
end

local E1, E2, E3, E4, E5, V, F = {}, {}, {}, {}, {}, {}, {}
for x = 0, 255 do
	local e, v, advanced, before = {}, 0, 0, 0
	for i = 0, 4 do
		local w = bxor(KEY[2 * i + 1] * 256 + KEY[2 * i + 2], x * 257, advanced)
		local t = band(w * 0x015A, 0xFFFF)
		if i == 0 then
			e[i] = t
		else
			e[i] = band((e[i - 1] + i) * 0x4E35 + t + before, 0xFFFF)
		end
		advanced = band(w * 0x4E35 + 1, 0xFFFF)
		v = bxor(v, advanced)
		before = t
	end
	E1[x], E2[x], E3[x], E4[x], E5[x], V[x] = e[0], e[1], e[2], e[3], e[4], v
	F[x] = band(e[4] * 0x4E35 + before, 0xFFFF)
end

local function tabled(b, n)
	local s, x = 0, 0
	for at = 2, n do
		local acc = bxor(s + E1[x], s * 0x4E35 + E2[x], s * 0x56F9 + E3[x], s * 0xDF8D + E4[x], s * 0x3E31 + E5[x], V[x])
		s = band(s * 0xCE25 + F[x], 0xFFFF)
		local p = bxor(b[at], band(bxor(acc, rshift(acc, 8)), 0xFF))
		b[at] = p
		x = bxor(x, p)
	end
end

local decipher = os.getenv("BC_CIPHER") == "plain" and plain or tabled

local datagrams, opcodes = 0, {}

-- count splits a deciphered datagram and counts the opcodes of whole game
-- messages.
local function count(b, n)
	local at = 3
	for _ = 1, b[2] do
		local kind, size = b[at], nil
		if kind == nil then
			return
		elseif kind == 0x32 then
			local fl = b[at + 1] + b[at + 2] * 256
			size = band(fl, 0x1FFF)
			local body = at + 3
			if fl >= 0x8000 then
				body = body + 2
			end
			if band(fl, 0x2000) == 0 and size > body - at and at + size - 1 <= n then
				opcodes[b[body]] = (opcodes[b[body]] or 0) + 1
			end
		elseif kind == 0x01 then
			size = 4 + band(b[at + 3], 1)
		elseif kind == 0x02 then
			size = 1
		else
			size = band(b[at + 1] + b[at + 2] * 256, 0x3FFF)
		end
		if size == 0 then
			return
		end
		at = at + size
	end
end

local proto = Proto("bc", "Star Trek: Bridge Commander")

function proto.dissector(tvb, pinfo)
	local n = tvb:len()
	if n < 3 or tvb(0, 1):uint() == 0x5C then
		return 0
	end
	local b = { tvb:raw(0, n):byte(1, n) }
	decipher(b, n)
	datagrams = datagrams + 1
	count(b, n)
	pinfo.cols.protocol = "BC"
	return n
end

DissectorTable.get("udp.port"):add(22101, proto)

local tap = Listener.new("frame")

function tap.draw()
	print("datagrams " .. datagrams)
	for op = 0, 255 do
		if opcodes[op] then
			print(string.format("0x%02X %d", op, opcodes[op]))
		end
	end
end
