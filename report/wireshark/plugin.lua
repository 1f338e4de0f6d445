-- Shows the traffic of Star Trek: Bridge Commander in Wireshark 4.0 and later.
-- Written by bcdissect @VERSION@; do not edit: "bcdissect wireshark install"
-- writes it anew.
--
-- The engine, a library beside this file, is bcdissect itself. It gets each
-- datagram and returns a trailer with all fields, their values and their places.
-- This file shows them and knows nothing of messages. Captures that bcdissect has
-- annotated hold such trailers in their frames. Without engine and trailer this
-- file deciphers the datagrams, splits them and names the messages.

local bit = bit or require("bit")
local band, bxor, rshift = bit.band, bit.bxor, bit.rshift
local byte, sub, char, format, concat = string.byte, string.sub, string.char, string.format, table.concat
local unpack = Struct.unpack

local bc = Proto("bc", "Star Trek: Bridge Commander")

local SUM = @SUM@
local MAGIC = "@MAGIC@"
local FOOTER = @FOOTER@
local ITEM = @ITEM@
local EXPERT, SAME, PART = @EXPERT@, @SAME@, @PART@

-- Forms of values, by the id of their field.
local NONE, WORD, SIGNED, DOUBLE, BOOLEAN, STRING, BYTES = 0, 1, 2, 3, 4, 5, 6
local F, FORM, TITLE, BESIDE, UNIT, FLAGS, NAMED = {}, {}, {}, {}, {}, {}, {}
local all = {}

local make = {
	NONE = function(abbr, name, doc) return NONE, ProtoField.none(abbr, name, doc) end,
	UINT = function(abbr, name, doc, values) return WORD, ProtoField.uint32(abbr, name, base.DEC, values, nil, doc) end,
	HEX = function(abbr, name, doc, values) return WORD, ProtoField.uint32(abbr, name, base.HEX, values, nil, doc) end,
	BYTE = function(abbr, name, doc, values) return WORD, ProtoField.uint8(abbr, name, base.HEX, values, nil, doc) end,
	INT = function(abbr, name, doc, values) return SIGNED, ProtoField.int32(abbr, name, base.DEC, values, nil, doc) end,
	DOUBLE = function(abbr, name, doc) return DOUBLE, ProtoField.double(abbr, name, doc) end,
	BOOLEAN = function(abbr, name, doc) return BOOLEAN, ProtoField.bool(abbr, name, nil, nil, nil, doc) end,
	STRING = function(abbr, name, doc) return STRING, ProtoField.string(abbr, name, base.UNICODE, doc) end,
	BYTES = function(abbr, name, doc) return BYTES, ProtoField.bytes(abbr, name, base.NONE, doc) end,
	IPv4 = function(abbr, name, doc) return BYTES, ProtoField.ipv4(abbr, name, doc) end,
	FRAMENUM = function(abbr, name, doc) return WORD, ProtoField.framenum(abbr, name, base.NONE, frametype.NONE, nil, doc) end,
}

local function field(id, form, name, title, doc, values, beside, unit, flags)
	FORM[id], F[id] = make[form]("bc." .. name, title, doc, values)
	TITLE[id], BESIDE[id], UNIT[id], FLAGS[id], NAMED[id] = title, beside, unit, flags, values
	all[#all + 1] = F[id]
end

-- id, form, name, name for people, meaning, names of values, how it stands behind
-- the value above, unit, names of bits
@FIELDS@

-- The function of the engine, or nil and the reason.
local engine, missing
do
	local folder = debug.getinfo(1, "S").source:sub(2):match(".*[/\\]") or ""
	local path = "@ENGINE@"
	if path == "" then
		path = folder .. "bcdissect-engine" .. (package.config:sub(1, 1) == "\\" and ".dll" or ".so")
	end
	local err
	engine, err = package.loadlib(path, "bcdissect_engine")
	if not engine then
		missing = "All fields need bcdissect's engine, which isn't here; run \"bcdissect wireshark install\" (" .. tostring(err):gsub("\n.*", "") .. ")"
	else
		local _, sum = engine("sum")
		if sum ~= "@SUM@" then
			engine = nil
			missing = "bcdissect's engine is of another version; run \"bcdissect wireshark install\""
		end
	end
end

-- preference returns the saved value of a preference: Wireshark reads them after
-- this file, and fields have to be defined in it.
local function preference(name)
	local found = ""
	local file = io.open(Dir.personal_config_path("preferences"))
	if file then
		for line in file:lines() do
			found = line:match("^" .. name:gsub("%.", "%%.") .. ":%s*(.*)$") or found
		end
		file:close()
	end
	return found
end

-- The messages of mods are fields as the game's own are.
local mods_error
if engine then
	local files = os.getenv("BCDISSECT_DEFINE") or preference("bc.define"):gsub(";", "\n")
	local _, lines = engine("define " .. files)
	if lines and lines:sub(1, 7) == "error: " then
		mods_error = "bcdissect: " .. lines:sub(8)
	elseif lines then
		load(lines, "definitions", "t", { field = field })()
		SUM = tonumber(select(2, engine("sum")))
	end
end

bc.fields = all

local X = {
@EXPERTS@
}
local other_version = ProtoExpert.new("bc.expert.version", "The capture was annotated by another version of bcdissect: run \"bcdissect wireshark install\"", expert.group.UNDECODED, expert.severity.WARN)
local left_out = ProtoExpert.new("bc.expert.left_out", "Fields have no room in this frame: \"bcdissect read\" shows them", expert.group.UNDECODED, expert.severity.WARN)
local no_engine = ProtoExpert.new("bc.expert.engine", "All fields need bcdissect's engine", expert.group.UNDECODED, expert.severity.CHAT)
do
	local experts = { other_version, left_out, no_engine }
	for i = 0, #X do
		experts[#experts + 1] = X[i]
	end
	bc.experts = experts
end

local this = nil -- the dissector, to ask whether its fields are needed

local function referenced(tree, field)
	return tree:referenced(field)
end

-- A trailer as its footer describes it; its places are those in the frame.
local trailer = {}

-- source returns the bytes of a data source of the trailer, and the offset of
-- its first one in them.
local function source(tvb, n)
	local s = trailer.sources[n]
	if not s then
		return tvb, trailer.first
	end
	if not s.tvb then
		s.tvb = ByteArray.new(sub(trailer.raw, s.at, s.at + s.size - 1), true):tvb(s.name)
	end
	return s.tvb, 0
end

-- text returns the text at a place, and the place after it.
local function text(pos)
	local raw = trailer.raw
	local a, b = byte(raw, pos, pos + 1)
	local size = a + b * 256
	if size == SAME then
		a, b = byte(raw, pos + 2, pos + 3)
		local at = trailer.items + a + b * 256
		a, b = byte(raw, at, at + 1)
		return sub(raw, at + 2, at + 1 + a + b * 256), pos + 4
	elseif size == PART then
		local from, n = unpack("<HH", raw, pos + 2)
		return sub(raw, trailer.info + from, trailer.info + from + n - 1), pos + 6
	end
	return sub(raw, pos + 2, pos + 1 + size), pos + 2 + size
end

-- value returns the value of a field at a place, and the place after it. Fields
-- whose bytes are the value, and groups, have none.
local function value(form, pos)
	if form == WORD then
		local a, b, c, d = byte(trailer.raw, pos, pos + 3)
		return a + b * 256 + c * 65536 + d * 16777216, pos + 4
	elseif form == DOUBLE then
		return (unpack("<d", trailer.raw, pos)), pos + 8
	elseif form == BOOLEAN then
		return byte(trailer.raw, pos) ~= 0, pos + 1
	elseif form == SIGNED then
		return (unpack("<i4", trailer.raw, pos)), pos + 4
	elseif form == STRING then
		return text(pos)
	end
	return nil, pos
end

-- Forms of numbers, by their units, as "bcdissect read -V" writes them. They are nil
-- for a number that Wireshark writes. Shares have the digits that JSON has: their
-- bytes are rounded, so that no digit is rounded twice.
local floor = math.floor
local forms = {
	share = function(v) return format("%.1f%%", floor(v * 255 + 0.5) / 2.55) end,
	shares = function(v) return format("%.0f%%", v * 100) end,
	tenths = function(v) return format("%.1f%%", floor(v * 2.04 + 0.5) / 2.04) end,
	percent = function(v) return format("%.0f%%", v) end,
	object = function(v) return v == 0 and "none" or v == @ANYONE@ and "anyone" or nil end,
	code = function(v) return v > 255 and format("0x%04x", v) or nil end,
	hash = function(v) return format("0x%04x", v) end,
}

-- measure writes a value with its unit.
local function measure(item, id, unit, v)
	local as = forms[unit]
	if not as then
		item:append_text(" " .. unit)
	elseif not NAMED[id] then
		local text = as(v)
		if text then
			item:set_text(TITLE[id] .. ": " .. text)
		end
	end
end

-- told is the item whose meaning the next items tell, with its depth and what they
-- told.
local told = {}

-- unset adds lines for the bits below one that are not set.
local function unset(upto)
	for i = told.bit, upto - 1 do
		if told.names[i] then
			told.item:add(told.range, format("%s = %s: Not set", told.pattern(i, "0"), told.names[i]))
		end
	end
	told.bit = upto
end

-- bits returns the text of one bit of a byte: .... .0..
local function bits(i, value)
	local text = ("."):rep(7 - i) .. value .. ("."):rep(i)
	return text:sub(1, 4) .. " " .. text:sub(5)
end

-- explain begins to collect what is told about an item.
local function explain(item, id, depth, v, range)
	told.item, told.depth, told.notes, told.names = item, depth, nil, FLAGS[id]
	told.flags, told.bit, told.range, told.pattern = v, 0, range, bits
end

-- explained writes it behind the item.
local function explained()
	if told.names then
		unset(8)
	end
	if told.notes then
		told.item:append_text(" (" .. concat(told.notes, told.names and "|" or ", ") .. ")")
	end
	told.item = nil
end

-- skip adds lines for the bits before the next one that is set.
local function skip()
	local i = told.bit
	while i < 7 and band(told.flags, 2 ^ i) == 0 do
		i = i + 1
	end
	unset(i)
end

-- tell takes note of a value about the last item.
local function tell(item, id, v)
	told.notes = told.notes or {}
	told.notes[#told.notes + 1] = BESIDE[id]:format(v)
	if told.names then
		item:set_text(format("%s = %s: Set", bits(told.bit, "1"), v))
		told.bit = told.bit + 1
	end
end

-- selected is the player and the ship of the frame whose details were shown last.
local selected = {}

-- show adds all items to a tree.
local function show(tvb, tree)
	selected.player, selected.ship = nil, nil
	local raw = trailer.raw
	local stack = { [0] = tree }
	local pos, last = trailer.items, trailer.items + trailer.size
	while pos < last do
		local a, b, c, d, e, f, _, _, depth, n = byte(raw, pos, pos + 9)
		local id, from, len = a + b * 256, c + d * 256, e + f * 256
		local form, v, label = FORM[id], nil, nil
		pos = pos + ITEM
		if told.item and depth <= told.depth then
			explained()
		end
		if id == EXPERT then
			label, pos = text(pos)
			stack[depth]:add_proto_expert_info(X[from], label)
		else
			if form == NONE then
				label, pos = text(pos)
			else
				v, pos = value(form, pos)
			end
			local item, range
			if told.item and told.names and BESIDE[id] then
				skip()
			end
			if len > 0 or form == BYTES then
				local bytes, base = source(tvb, n)
				range = bytes:range(base + from, len)
				if v == nil then
					item = stack[depth]:add(F[id], range)
				else
					item = stack[depth]:add(F[id], range, v)
				end
			else
				if v == nil then
					item = stack[depth]:add(F[id])
				else
					item = stack[depth]:add(F[id], v)
				end
				item:set_generated()
			end
			if label and label ~= "" then
				item:set_text(label)
			elseif BESIDE[id] and told.item then
				tell(item, id, v)
			else
				local unit = UNIT[id]
				if unit then
					measure(item, id, unit, v)
				end
				if v and not NAMED[id] and form ~= STRING then
					explain(item, id, depth, v, range)
				end
			end
			if id == @PLAYER@ then
				selected.player = v
			elseif TITLE[id] == "Object" and not selected.ship then
				selected.ship = v
			end
			stack[depth + 1] = item
		end
	end
	if told.item then
		explained()
	end
end

-- pick adds the items of a field that a filter, a column or the like asks for.
local function pick(tvb, tree, id, place)
	local raw, field, form = trailer.raw, F[id], FORM[id]
	repeat
		local pos = trailer.items + place
		if form == BYTES then
			local a, b, c, d, _, _, _, n = byte(raw, pos + 2, pos + 9)
			local bytes, base = source(tvb, n)
			tree:add(field, bytes:range(base + a + b * 256, c + d * 256))
		elseif form == NONE then
			tree:add(field)
		else
			tree:add(field, (value(form, pos + ITEM)))
		end
		local a, b = byte(raw, pos + 6, pos + 7)
		local last = place
		place = a + b * 256
	until place <= last -- 0 ends the list, and a damaged one does not go back
end

-- listed adds the items of a trailer that has only those that are needed, one
-- below the other, and expert information.
local function listed(tvb, tree)
	local raw = trailer.raw
	local pos, last = trailer.items, trailer.items + trailer.size
	while pos < last do
		local a, b, c, d, e, f, _, _, _, n = byte(raw, pos, pos + 9)
		local id, v = a + b * 256, nil
		local form = FORM[id]
		pos = pos + ITEM
		if id == EXPERT then
			v, pos = text(pos)
			tree:add_proto_expert_info(X[c + d * 256], v)
		elseif form == NONE then
			_, pos = text(pos)
			tree:add(F[id])
		elseif form == BYTES then
			local bytes, base = source(tvb, n)
			tree:add(F[id], bytes:range(base + c + d * 256, e + f * 256))
		else
			v, pos = value(form, pos)
			tree:add(F[id], v)
		end
	end
end

-- picked adds the needed items of a trailer that has all.
local function picked(tvb, tree)
	local raw = trailer.raw
	for i = trailer.list, trailer.info - 4, 4 do
		local a, b, c, d = byte(raw, i, i + 3)
		local id = a + b * 256
		if referenced(tree, F[id]) then
			pick(tvb, tree, id, c + d * 256)
		end
	end
end

-- opened reads the footer of the trailer at the end of a text. It reports whether
-- there is one.
local function opened(raw)
	if sub(raw, -8) ~= MAGIC then
		return false
	end
	local n = #raw
	local size, sum, payload, length, ids, info, flags, nsources, items = unpack("<I4I4I4HHHBBI4", raw, n - FOOTER + 1)
	local list = n - FOOTER + 1 - info - 4 * ids
	if size > n or list - items < 1 then
		return false
	end
	trailer.raw, trailer.size, trailer.sum, trailer.flags, trailer.length = raw, items, sum, flags, length
	trailer.items, trailer.list, trailer.info, trailer.footer = list - items, list, n - FOOTER + 1 - info, n - FOOTER + 1
	trailer.embedded, trailer.payload, trailer.nsources, trailer.at = payload == 0xFFFFFFFF, payload, nsources, n - size + 1 + #MAGIC
	return true
end

-- sources finds the data sources in the trailer. first is the offset of the
-- datagram in the buffer that it is shown with.
local function sources(first)
	trailer.first = first
	local all, at = {}, trailer.at
	local name = engine and "Deciphered datagram" or "Reassembled datagram"
	for i = trailer.embedded and 0 or 1, trailer.embedded and trailer.nsources - 1 or trailer.nsources do
		local a, b = byte(trailer.raw, at, at + 1)
		all[i] = { at = at + 2, size = a + b * 256, name = i == 0 and name or "Reassembled message" }
		at = at + 2 + all[i].size
	end
	trailer.sources = all
end

-- display shows the datagram at a place of a buffer, as the trailer describes it.
-- The trailer has only the needed items if it is chosen.
local function display(tvb, first, size, pinfo, tree, chosen)
	local cols = pinfo.cols
	cols.protocol = "BC"
	cols.info = sub(trailer.raw, trailer.info, trailer.footer - 1)
	if trailer.flags == 0 and not referenced(tree, this) then
		return
	end
	local root = tree:add(bc, tvb:range(first, size))
	if trailer.sum ~= SUM then
		root:add_proto_expert_info(other_version)
		return
	end
	sources(first)
	if chosen then
		listed(tvb, root)
	elseif tree.visible or trailer.flags ~= 0 then
		show(tvb, root)
	else
		picked(tvb, root)
	end
	if trailer.flags >= 2 then
		root:add_proto_expert_info(left_out)
	end
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

-- FIRST are the key bytes of the third byte by the second one, enciphered, and
-- COUNT is that of the second one itself.
local FIRST = {}
for c = 0, 255 do
	local b = { 0, c, 0 }
	decipher(b, 3)
	FIRST[c] = b[3]
end
local COUNT
do
	local b = { 0, 0 }
	decipher(b, 2)
	COUNT = b[2]
end

-- recognise tells the game's datagrams from others: the payload that begins at
-- an offset of the frame and has a number of bytes, perhaps fewer than it had on
-- the network.
local function recognise(raw, at, n, cut)
	local peer, count, kind = byte(raw, at + 1, at + 3)
	seen.at, seen.size, seen.text = at, n, nil
	if peer == 0x5C then
		seen.text = sub(raw, at + 1, at + n)
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
	local b = { byte(raw, at + 1, at + n) }
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

-- plain shows a datagram without engine and trailer.
local function plain(tvb, pinfo, tree)
	local cols = pinfo.cols
	cols.protocol = "BC"
	if seen.text then
		local text = seen.text:gsub("[^ -~]", ".")
		cols.info = "gamespy  " .. text
		if tree.visible or referenced(tree, this) then
			tree:add(bc, tvb:range(seen.at, seen.size)):append_text(", GameSpy text")
		end
		return
	end
	local names = seen.names
	cols.info = concat(names, " │ ")
	if not tree.visible and not referenced(tree, this) then
		return
	end
	local root = tree:add(bc, tvb:range(seen.at, seen.size))
	root:add_proto_expert_info(no_engine, missing)
	local source, first = tvb, seen.at
	if not seen.clear then
		local b = seen.bytes
		local text = {}
		for i = 1, #b do
			text[i] = char(b[i])
		end
		source, first = ByteArray.new(concat(text), true):tvb("Deciphered datagram"), 0
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

-- quoted reports whether an ICMP error quotes the datagram at a place of a frame.
local function quoted(tvb, at)
	local outer = at - 8 - 20 - 8 - 20 -- UDP, IPv4, ICMP, IPv4
	if outer < 0 then
		return false
	end
	local raw = tvb:raw(outer, 29)
	return byte(raw, 1) == 0x45 and byte(raw, 10) == 1 and byte(raw, 29) == 0x45
end

-- Without the engine, a second dissector sees whole frames, with the trailers of
-- annotated captures. The first one only recognises the datagrams.
local trailers = not engine and Proto("bcnotes", "Star Trek: Bridge Commander, annotations")
local claimed = {} -- the number of the frame of the datagram in seen

if not engine then
	function trailers.dissector(tvb, pinfo, tree)
		local n = tvb:len()
		if n > FOOTER and tvb:raw(n - #MAGIC) == MAGIC and opened(tvb:raw()) then
			if trailer.embedded then
				display(tvb, 0, n, pinfo, tree)
			else
				display(tvb, trailer.payload, trailer.length, pinfo, tree)
			end
		elseif claimed.number == pinfo.number then
			if seen.at + seen.size > n then
				seen.at, seen.size = 0, n -- the datagram came in IP fragments
			end
			if not quoted(tvb, seen.at) then
				plain(tvb, pinfo, tree)
			end
		end
		claimed.number = nil
	end
	register_postdissector(trailers)
end

local function recognised(tvb, pinfo, tree)
	local n = tvb:len()
	if not recognise(tvb:raw(), 0, n, tvb:reported_len() > n) then
		return false
	end
	seen.at, claimed.number = tvb:offset(), pinfo.number
	return true
end

-- What follows is for datagrams that the engine dissects.

local NOT_OURS, TEXT, OURS, ADDRESSES, LINE = 0, 1, 2, 3, 4 -- status of an answer
local AGAIN, ALL, CHOSEN = 1, 2, 4 -- flags of a call
local ids = {}
for id in pairs(F) do
	ids[#ids + 1] = id
end
table.sort(ids)

-- The needed fields. Wireshark doesn't say when others are needed, so they are
-- asked for whenever it goes back to an earlier frame.
local chosen, latest = "", 0

local function choose(tree, number)
	if number > latest and latest > 0 then
		latest = number
		return
	end
	latest = number
	local all, n = {}, 0
	for i = 1, #ids do
		if referenced(tree, F[ids[i]]) then
			n = n + 1
			all[n] = ids[i]
		end
	end
	local list = concat(all, " ")
	if list ~= chosen then
		chosen = list
		engine("choose " .. list)
	end
end

local function dissect(tvb, pinfo, tree)
	local number, flags = pinfo.number, pinfo.visited and AGAIN or 0
	if referenced(tree, this) then
		if tree.visible then
			flags = flags + ALL
		else
			choose(tree, number)
			flags = flags + CHOSEN
		end
	end
	local n = tvb:len()
	local status, answer = engine(tvb, n, number, pinfo.abs_ts, pinfo.len, flags)
	if status == LINE then
		local cols = pinfo.cols
		cols.protocol = "BC"
		cols.info = answer
		if flags >= CHOSEN then
			tree:add(bc, tvb())
		end
		return true
	elseif status == ADDRESSES then
		status, answer = engine(tvb, n, number, pinfo.abs_ts, pinfo.len, flags, tostring(pinfo.src), tostring(pinfo.dst), pinfo.src_port, pinfo.dst_port)
	end
	if status == LINE then
		pinfo.cols.protocol, pinfo.cols.info = "BC", answer
		return true
	elseif status == OURS and opened(answer) then
		display(tvb, 0, n, pinfo, tree, trailer.embedded and (flags < ALL or flags >= CHOSEN)) -- annotated frames have all fields
		return true
	elseif status == TEXT then -- a fault of the engine
		pinfo.cols.info = "bcdissect: " .. answer:gsub("\n.*", "")
		tree:add(bc, tvb()):add_proto_expert_info(no_engine, answer)
		return true
	end
	return false
end

local take = engine and dissect or recognised

function bc.dissector(tvb, pinfo, tree)
	return take(tvb, pinfo, tree) and tvb:len() or 0
end

-- Once a datagram is recognised, those between the same addresses need no search,
-- and no dissector of a port takes them.
bc:register_heuristic("udp", function(tvb, pinfo, tree)
	if not take(tvb, pinfo, tree) then
		return false
	end
	pinfo.conversation = bc
	return true
end)
local udp = DissectorTable.get("udp.port")
udp:add_for_decode_as(bc)
this = Dissector.get("bc")

-- Preferences.

local prefs = bc.prefs
prefs.ports = Pref.string("Host ports", "", "Ports of the game's hosts, with commas. Empty: the game is recognised by its content on any port")
if engine then
	prefs.dialect = Pref.enum("Dialect", 1, "How all senders write messages", {
		{ 1, "Recognise it", 1 }, { 2, "Original game", 2 }, { 3, "OpenBC", 3 },
	}, false)
	prefs.players = Pref.bool("Names of players for addresses", true, "The address columns show players where Wireshark resolves network addresses (View, Name Resolution)")
	prefs.hide = Pref.bool("Hide ship updates in the Info column", false, "A frame with nothing else says how many it holds. The button No updates of the profile leaves such frames out of the list")
	prefs.define = Pref.string("Definitions of mods", "", "Files in TOML, with semicolons; see docs/mods.md. Their messages are shown after Wireshark is started again")
end

local DIALECTS = { "auto", "stock", "openbc" }
local config, ports = "", {}

function bc.prefs_changed()
	for _, port in ipairs(ports) do
		udp:remove(port, bc)
	end
	ports = {}
	for port in prefs.ports:gmatch("%d+") do
		port = tonumber(port)
		if port > 0 and port < 65536 then
			ports[#ports + 1] = port
			udp:add(port, bc)
		end
	end
	if engine then
		local new = format("config ports=%s dialect=%s hide=%s names=%s", concat(ports, ","), DIALECTS[prefs.dialect], tostring(prefs.hide), tostring(prefs.players))
		if new ~= config then
			config = new
			engine(config)
		end
	end
end

-- The menu: Tools, Bridge Commander.

if engine and gui_enabled() then
	local function menu(name, action)
		register_menu("Bridge Commander/" .. name, action, MENU_TOOLS_UNSORTED)
	end
	for _, one in ipairs({
		{ "Players, scores and damage", "session" }, { "Connections", "connections" }, { "Chat log", "chat" },
	}) do
		menu(one[1], function()
			local window = TextWindow.new("Bridge Commander: " .. one[1])
			local _, report = engine("report " .. one[2])
			window:set(report or "")
		end)
	end
	local function follow(what, form)
		return function()
			local of = selected[what]
			if not of then
				report_failure("Select a frame of a " .. what .. " first")
				return
			end
			set_filter(format(form, of))
			apply_filter()
		end
	end
	menu("Follow this player", follow("player", "bc.player == %q"))
	menu("Follow this ship", follow("ship", "bc.StateUpdate.object_id == 0x%08x"))
end

function bc.init()
	latest = 0
	if mods_error then
		report_failure(mods_error)
		mods_error = nil
	end
	if engine then
		engine("reset")
	end
end
