-- Shows the traffic of Star Trek: Bridge Commander in Wireshark 4.0 and later.
-- Written by bcdissect @VERSION@; do not edit: "bcdissect wireshark install"
-- writes it anew.
--
-- Captures that bcdissect has annotated hold a trailer in each frame of the
-- game, with all fields, their values and their places: this file shows them and
-- knows nothing of messages. In other captures it deciphers the datagrams,
-- splits them and names the messages.

local bit = bit or require("bit")
local band, bxor, rshift = bit.band, bit.bxor, bit.rshift
local byte, sub, char, format, concat = string.byte, string.sub, string.char, string.format, table.concat
local unpack = Struct.unpack

local bc = Proto("bc", "Star Trek: Bridge Commander")

local SUM = @SUM@
local MAGIC = "@MAGIC@"
local FOOTER = @FOOTER@
local ITEM = @ITEM@

-- Forms of values, by the id of their field.
local NONE, WORD, SIGNED, DOUBLE, BOOLEAN, STRING, BYTES = 0, 1, 2, 3, 4, 5, 6
local F, FORM, BESIDE = {}, {}, {}
local all = {}

local function add(id, form, field, beside)
	F[id], FORM[id], BESIDE[id] = field, form, beside
	all[#all + 1] = field
end

local make = {
	NONE = function(id, abbr, name, doc, values, beside) add(id, NONE, ProtoField.none(abbr, name, doc), beside) end,
	UINT = function(id, abbr, name, doc, values, beside) add(id, WORD, ProtoField.uint32(abbr, name, base.DEC, values, nil, doc), beside) end,
	HEX = function(id, abbr, name, doc, values, beside) add(id, WORD, ProtoField.uint32(abbr, name, base.HEX, values, nil, doc), beside) end,
	INT = function(id, abbr, name, doc, values, beside) add(id, SIGNED, ProtoField.int32(abbr, name, base.DEC, values, nil, doc), beside) end,
	DOUBLE = function(id, abbr, name, doc, values, beside) add(id, DOUBLE, ProtoField.double(abbr, name, doc), beside) end,
	BOOLEAN = function(id, abbr, name, doc, values, beside) add(id, BOOLEAN, ProtoField.bool(abbr, name, nil, nil, nil, doc), beside) end,
	STRING = function(id, abbr, name, doc, values, beside) add(id, STRING, ProtoField.string(abbr, name, base.UNICODE, doc), beside) end,
	BYTES = function(id, abbr, name, doc, values, beside) add(id, BYTES, ProtoField.bytes(abbr, name, base.NONE, doc), beside) end,
	IPv4 = function(id, abbr, name, doc, values, beside) add(id, BYTES, ProtoField.ipv4(abbr, name, doc), beside) end,
	FRAMENUM = function(id, abbr, name, doc, values, beside) add(id, WORD, ProtoField.framenum(abbr, name, base.NONE, frametype.NONE, nil, doc), beside) end,
}

local function field(id, form, name, doc, values, beside)
	make[form](id, "bc." .. name, name:match("[^.]+$"), doc, values, beside)
end

-- id, form, name, meaning, names of values, whether it is about the value above
@FIELDS@
bc.fields = all

local X = {
@EXPERTS@
}
local other_version = ProtoExpert.new("bc.expert.version", "The capture was annotated by another version of bcdissect: run \"bcdissect wireshark install\"", expert.group.UNDECODED, expert.severity.WARN)
local left_out = ProtoExpert.new("bc.expert.left_out", "Fields have no room in this frame: \"bcdissect read\" shows them", expert.group.UNDECODED, expert.severity.WARN)
local for_all = ProtoExpert.new("bc.expert.raw", "For all fields: \"bcdissect wireshark FILE\"", expert.group.UNDECODED, expert.severity.CHAT)
do
	local experts = { other_version, left_out, for_all }
	for i = 0, #X do
		experts[#experts + 1] = X[i]
	end
	bc.experts = experts
end

local this = nil -- the dissector, to ask whether its fields are needed

-- show adds the items of a trailer to a tree: those of the ids in wanted, or all
-- of them if it is nil.
local function show(raw, tvb, tree, wanted, payload, items, size, sources, embedded)
	local stack = { [0] = tree }
	local source, base = tvb, payload
	local pos, last = items, items + size
	while pos < last do
		local a, b, c, d, e, f, depth = byte(raw, pos, pos + 6)
		local id, from, len = a + b * 256, c + d * 256, e + f * 256
		pos = pos + ITEM
		local form = FORM[id]
		if id == 0 then
			if from == 0 and not embedded then
				source, base = tvb, payload
			else
				local n = embedded and from or from - 1
				local s = sources[n]
				if not s.tvb then
					s.tvb = ByteArray.new(sub(raw, s.at, s.at + s.size - 1), true):tvb(s.name)
				end
				source, base = s.tvb, 0
			end
		elseif id == 1 then
			a, b = byte(raw, pos, pos + 1)
			local size = a + b * 256
			if not wanted and stack[depth] then
				stack[depth]:add_proto_expert_info(X[from] or X[0], sub(raw, pos + 2, pos + 1 + size))
			end
			pos = pos + 2 + size
		elseif not form then
			return
		else
			local value, text
			if form == WORD then
				a, b, c, d = byte(raw, pos, pos + 3)
				value = a + b * 256 + c * 65536 + d * 16777216
				pos = pos + 4
			elseif form == DOUBLE then
				value = unpack("<d", raw, pos)
				pos = pos + 8
			elseif form == BOOLEAN then
				value = byte(raw, pos) ~= 0
				pos = pos + 1
			elseif form == SIGNED then
				value = unpack("<i4", raw, pos)
				pos = pos + 4
			elseif form ~= BYTES then
				a, b = byte(raw, pos, pos + 1)
				local size = a + b * 256
				text = sub(raw, pos + 2, pos + 1 + size)
				pos = pos + 2 + size
				if form == STRING then
					value = text
				end
			end
			if not wanted or wanted[id] then
				local parent = wanted and tree or stack[depth]
				local range = (len > 0 or form == BYTES) and source:range(base + from, len)
				local item
				if not range then
					item = value == nil and parent:add(F[id]) or value ~= nil and parent:add(F[id], value)
					item:set_generated()
				elseif value == nil then
					item = parent:add(F[id], range)
				else
					item = parent:add(F[id], range, value)
				end
				if not wanted then
					if form == NONE and text ~= "" then
						item:set_text(text)
					elseif BESIDE[id] then
						parent:append_text(" (" .. tostring(value) .. ")")
					end
					stack[depth + 1] = item
				end
			end
		end
	end
end

-- annotated shows the frame if it has a trailer. It reports whether it has.
local function annotated(tvb, pinfo, tree)
	local n = tvb:len()
	if n < FOOTER then
		return false
	end
	local footer = tvb:raw(n - FOOTER)
	if sub(footer, -8) ~= MAGIC then
		return false
	end
	local size, sum, payload, length, ids, info, flags, nsources, items = unpack("<I4I4I4HHHBBI4", footer)
	local at = n - FOOTER + 1 - info
	if size > n or at - 2 * ids - items < 1 then
		return false
	end
	local cols = pinfo.cols
	cols.protocol = "BC"
	if info > 0 then
		cols.info = tvb:raw(at - 1, info)
	end
	local visible = tree.visible
	if not visible and flags == 0 and not tree:referenced(this) then
		return true
	end
	local raw = tvb:raw()
	local embedded = payload == 0xFFFFFFFF
	local root
	if embedded then
		root = tree:add(bc)
	else
		root = tree:add(bc, tvb:range(payload, length))
	end
	if sum ~= SUM then
		root:add_proto_expert_info(other_version)
		return true
	end
	local wanted
	if not visible and flags == 0 then
		wanted = {}
		local any = false
		for i = at - 2 * ids, at - 2, 2 do
			local a, b = byte(raw, i, i + 1)
			local id = a + b * 256
			if F[id] and tree:referenced(F[id]) then
				wanted[id], any = true, true
			end
		end
		if not any then
			return true
		end
	end
	local sources, next_source = {}, n - size + 1
	for i = 0, nsources - 1 do
		local a, b = byte(raw, next_source, next_source + 1)
		local s = { at = next_source + 2, size = a + b * 256, name = "Reassembled message" }
		if embedded and i == 0 then
			s.name = "Reassembled datagram"
		end
		sources[i] = s
		next_source = s.at + s.size
	end
	if embedded and sources[0] then
		local s = sources[0]
		s.tvb = ByteArray.new(sub(raw, s.at, s.at + s.size - 1), true):tvb(s.name)
		show(raw, s.tvb, root, wanted, 0, at - 2 * ids - items, items, sources, true)
	else
		show(raw, tvb, root, wanted, payload, at - 2 * ids - items, items, sources, false)
	end
	if flags >= 2 then
		root:add_proto_expert_info(left_out)
	end
	return true
end

-- What follows is for datagrams without a trailer.

-- The cipher by tables: all that depends on one byte alone is worked out before.
local KEY = { 0x416C, 0x6279, 0x5275, 0x6C65, 0x7321 }
local E1, E2, E3, E4, E5, V, S = {}, {}, {}, {}, {}, {}, {}
for x = 0, 255 do
	local e, v, advanced, before = {}, 0, 0, 0
	for i = 1, 5 do
		local w = bxor(KEY[i], x * 257, advanced)
		local t = band(w * 0x015A, 0xFFFF)
		if i == 1 then
			e[i] = t
		else
			e[i] = band((e[i - 1] + i - 1) * 0x4E35 + t + before, 0xFFFF)
		end
		advanced = band(w * 0x4E35 + 1, 0xFFFF)
		v = bxor(v, advanced)
		before = t
	end
	E1[x], E2[x], E3[x], E4[x], E5[x], V[x] = e[1], e[2], e[3], e[4], e[5], v
	S[x] = band(e[5] * 0x4E35 + before, 0xFFFF)
end

-- decipher deciphers the bytes b[2..n] in place.
local function decipher(b, n)
	local s, x = 0, 0
	for at = 2, n do
		local acc = bxor(s + E1[x], s * 0x4E35 + E2[x], s * 0x56F9 + E3[x], s * 0xDF8D + E4[x], s * 0x3E31 + E5[x], V[x])
		s = band(s * 0xCE25 + S[x], 0xFFFF)
		local p = bxor(b[at], band(bxor(acc, rshift(acc, 8)), 0xFF))
		b[at] = p
		x = bxor(x, p)
	end
end

local OPCODES = {
@OPCODES@
}
local KINDS = {
@KINDS@
}
local STANDARD, ACK, KEEPALIVE, LEAVE = @STANDARD@, @ACK@, @KEEPALIVE@, @LEAVE@

-- split returns the names of the messages of a deciphered datagram and their
-- places, or nil if they do not fit it to the last byte. A cut datagram has to
-- fit as far as it goes.
local function split(b, n, cut)
	local names, places, at = {}, {}, 3
	for i = 1, b[2] do
		local kind = b[at]
		local name = KINDS[kind]
		if not name then
			return cut and at > n and i > 1 and names or nil, places
		end
		local size
		if kind == STANDARD then
			if at + 2 > n then
				return cut and i > 1 and names or nil, places
			end
			local high = b[at + 2]
			size = b[at + 1] + band(high, 0x1F) * 256
			local body = at + 3
			if high >= 0x80 then
				body = body + 2
			end
			if band(high, 0x20) ~= 0 then
				name = "fragment"
			elseif b[body] then
				name = OPCODES[b[body]] or format("unknown 0x%02X", b[body])
			end
			if size < body - at then
				return nil
			end
		elseif kind == ACK then
			if at + 3 > n then
				return cut and i > 1 and names or nil, places
			end
			size = 4 + band(b[at + 3], 1)
		elseif kind == KEEPALIVE then
			size = 1
		elseif at + 1 > n then
			return cut and i > 1 and names or nil, places
		elseif kind == LEAVE or not b[at + 2] or b[at + 2] < 0x80 then
			size = b[at + 1]
			if size < 2 then
				return nil
			end
		else
			size = b[at + 1] + band(b[at + 2], 0x3F) * 256
			if size < 5 then
				return nil
			end
		end
		names[i], places[2 * i - 1], places[2 * i] = name, at, size
		at = at + size
		if at > n + 1 then
			return cut and i > 1 and names or nil, places
		end
	end
	if at ~= n + 1 and not cut then
		return nil
	end
	return names, places
end

-- The last datagram that was recognised.
local seen = {}
local UDP = 3 -- of pinfo.port_type

-- FIRST are the key bytes of the third byte by the second one, enciphered.
local FIRST = {}
for c = 0, 255 do
	local b = { 0, c, 0 }
	decipher(b, 3)
	FIRST[c] = b[3]
end
local COUNT = @FIRSTKEY@

-- recognise tells the game's datagrams from others: the payload that begins at
-- an offset of the frame and has a number of bytes, perhaps fewer than it had on
-- the network.
local function recognise(tvb, at, n, cut)
	local peer, count, kind = byte(tvb:raw(at, 3), 1, 3)
	seen.at, seen.size, seen.text = at, n, nil
	if peer == 0x5C then
		seen.text = tvb:raw(at, n)
		return seen.text:match("^\\[%w_]+\\")
	end
	if peer == 0 or peer > 0x7E and peer ~= 0xFF then
		return false
	end
	local clear = count > 0 and KINDS[kind]
	local enciphered = count ~= COUNT and KINDS[bxor(kind, FIRST[count])]
	if not clear and not enciphered then
		return false
	end
	local b = { byte(tvb:raw(at, n), 1, n) }
	local names, places
	if clear then
		names, places = split(b, n, cut)
	end
	if not names and enciphered then
		clear = false
		decipher(b, n)
		names, places = split(b, n, cut)
	end
	seen.bytes, seen.names, seen.places, seen.clear = b, names, places, clear
	return names
end

-- datagram returns the place of the payload of a UDP datagram that no other
-- dissector takes, and whether it is cut.
local function datagram(tvb, pinfo)
	local port_type = pinfo.port_type
	if port_type ~= UDP then
		return
	end
	local src, dst = pinfo.src_port, pinfo.dst_port
	local raw = tvb:raw()
	local ports = char(rshift(src, 8), band(src, 0xFF), rshift(dst, 8), band(dst, 0xFF))
	local whole, n, at = tvb:reported_len(), #raw, 20
	while true do
		at = raw:find(ports, at, true)
		if not at or at + 10 > n then
			return
		end
		local high, low = byte(raw, at + 4, at + 5)
		local size = high * 256 + low
		-- The IP header before it names UDP, and the packet ends with the frame or with
		-- padding.
		if size > 10 and at - 1 + size <= whole and (byte(raw, at - 11) == 17 or byte(raw, at - 34) == 17) then
			return at + 7, math.min(size - 8, n - at - 7), at - 1 + size > n
		end
		at = at + 1
	end
end

-- raw shows the datagram of a frame without a trailer.
local function plain(tvb, pinfo, tree)
	local cols = pinfo.cols
	local protocol = tostring(cols.protocol)
	if protocol ~= "UDP" and protocol ~= "(protocol)" then
		return
	end
	cols.protocol = "BC"
	if seen.text then
		local text = seen.text:gsub("[^ -~]", ".")
		cols.info = "gamespy  " .. text
		if tree.visible or tree:referenced(this) then
			tree:add(bc, tvb:range(seen.at, seen.size)):append_text(", GameSpy text")
		end
		return
	end
	local names = seen.names
	cols.info = concat(names, " │ ")
	if not tree.visible and not tree:referenced(this) then
		return
	end
	local root = tree:add(bc, tvb:range(seen.at, seen.size))
	root:add_proto_expert_info(for_all)
	local source, first = tvb, seen.at
	if not seen.clear then
		local b = seen.bytes
		local text = {}
		for i = 1, #b do
			text[i] = format("%02x", b[i])
		end
		source, first = ByteArray.new(concat(text)):tvb("Deciphered datagram"), 0
	end
	root:add(F[@PEER@], source:range(first, 1), seen.bytes[1])
	for i, name in ipairs(names) do
		local at, size = seen.places[2 * i - 1] - 1, seen.places[2 * i]
		size = math.min(size, seen.size - at)
		local item = root:add(F[@MESSAGE@], source:range(first + at, size))
		item:set_text(name)
		item:add(F[@NAME@], source:range(first + at, size), name)
	end
end

function bc.dissector(tvb, pinfo, tree)
	if annotated(tvb, pinfo, tree) then
		return
	end
	local at, size, cut = datagram(tvb, pinfo)
	if at and recognise(tvb, at, size, cut) then
		plain(tvb, pinfo, tree)
	end
end

register_postdissector(bc)
this = Dissector.get("bc")
