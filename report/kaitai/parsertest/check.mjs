// usage: node check.mjs DESCRIPTION LINES RECORDS...
// Compiles a description of opcodes -T kaitai, and compares what its parser reads from
// each message of the records (read -T json --payload) with the fields there. LINES is
// opcodes -T json. Prints counts, and the first messages that differ, as JSON.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import readline from 'node:readline'
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)
const compiler = require('kaitai-struct-compiler')
const KaitaiStream = require('kaitai-struct/KaitaiStream')

const [description, lines, ...captures] = process.argv.slice(2)

// types are the types of fields, by their names; species those of ships.
const types = {}
const bySender = new Set() // messages for which only the layout of the sender's dialect counts
const unseen = new Set() // paths of derived fields that follow from more than the lines tell
const species = {}
{
  const all = fs.readFileSync(lines, 'utf8').trim().split('\n').map(l => JSON.parse(l))
  for (const l of all) if (l.by_sender) bySender.add(l.name)
  const kinds = Object.fromEntries(all.filter(l => l.layer === 'kind').map(k => [k.name, k.type]))
  for (const l of all.filter(l => l.layer === 'ship')) species[l.name] = l.species
  for (const f of all.flatMap(l => (l.layouts ?? []).flatMap(y => y.fields ?? []))) {
    types[f.path.slice(f.path.lastIndexOf('.') + 1)] ??= kinds[f.kind]
    if (['session', 'file name'].includes(f.from?.is)) unseen.add(f.path)
  }
}

// compile returns the class of the parser, which reads when it is told to: so that there
// is something to see of a message that ends too early.
async function compile () {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'bcdissect-kaitai-'))
  try {
    fs.symlinkSync(path.join(import.meta.dirname, 'node_modules'), path.join(dir, 'node_modules'))
    const files = await compiler.compile('javascript', JSON.parse(fs.readFileSync(description, 'utf8')), null, true)
    for (const name in files) fs.writeFileSync(path.join(dir, name), files[name])
    return require(path.join(dir, 'BcMessage.js')).BcMessage
  } finally {
    fs.rmSync(dir, { recursive: true })
  }
}

const camel = id => id.replace(/_(.)/g, (_, c) => c.toUpperCase())
const snake = id => id.replace(/[A-Z]/g, c => '_' + c.toLowerCase())
const getters = o => Object.entries(Object.getOwnPropertyDescriptors(Object.getPrototypeOf(o))).filter(([, d]) => d.get).map(([n]) => n)

// complete reports whether all fields of an object were read and are valid.
function complete (v) {
  if (v.byte !== undefined) {
    const n = v.byte >> 5
    if (n < 1 || n > 5 || (v.byte & 31) >> n) return false
  }
  return [...v._read.toString().matchAll(/_debug\.(\w+) = /g)].every(([, n]) => v._debug[n]?.end !== undefined || (n === 'byte' && v.auxOpen >= 256))
}

let fits = false // fields that have to take the rest of the message do

// plain returns what the parser read as in JSON; undefined for nothing.
function plain (v) {
  if (v === null || v === undefined || v === '') return undefined
  if (v instanceof Uint8Array) return Buffer.from(v).toString('hex')
  if (Array.isArray(v)) {
    const all = v.map(plain)
    return all.includes(undefined) ? undefined : all // an array is whole or absent
  }
  if (typeof v !== 'object') return v
  const names = getters(v)
  if (v.constructor.name === 'Bit' || /^K[A-Z0-9]/.test(v.constructor.name)) { // of a kind, unless the message ends in it
    if (!complete(v)) return undefined
    return typeof v.value === 'string' ? v.value : plain(v.value)
  }
  const fields = {}
  for (const n of [...Object.keys(v), ...names]) {
    if (n.startsWith('_') || n.startsWith('aux')) continue
    let x
    try {
      const whole = 'auxFits' + n[0].toUpperCase() + n.slice(1)
      if (whole in v && !(fits = v[whole])) continue // its fields don't take the rest of the message
      x = plain(v[n])
    } catch { continue }
    const id = snake(n).replace(/_?\d$/, '') // a second field of the same name has a number
    if (x !== undefined) fields[id] = x
  }
  return fields
}

const same32 = (a, b) => Object.is(Math.fround(a), Math.fround(b)) || (a === null && !Number.isFinite(Math.fround(b)))

// differ returns where fields differ from those wanted, empty if they are the same.
function differ (want, got, at, type) {
  if (want === undefined || got === undefined) return want === got ? '' : `${at}: ${JSON.stringify(want)}, got ${JSON.stringify(got)}`
  switch (type) {
    case 'number': return same32(want, got) ? '' : `${at}: ${want}, got ${got}`
    case 'numbers': return want.length === got.length && want.every((x, i) => same32(x, got[i])) ? '' : `${at}: ${want}, got ${got}`
    case 'boolean': return want === Boolean(got) ? '' : `${at}: ${want}, got ${got}`
    case 'address': got = got.join('.')
  }
  if (Array.isArray(want)) {
    if (want.length !== got.length) return `${at}: ${want.length} elements, got ${got.length}`
    return want.map((x, i) => differ(x, got[i], `${at}[${i}]`)).find(d => d) ?? ''
  }
  if (typeof want !== 'object') return want === got ? '' : `${at}: ${JSON.stringify(want)}, got ${JSON.stringify(got)}`
  const empty = x => Array.isArray(x) && x.length === 0
  for (const key of new Set([...Object.keys(want), ...Object.keys(got)])) {
    if (companion(key, want) || unseen.has(`${at}.${key}`.replace(/^\w+\./, '').replace(/\[\d+\]/g, '[]').replace(/(\b\w+\[\]\.)\1+/, '$1'))) continue
    if (want[key] === undefined && (got[key] === undefined || empty(got[key]))) continue
    const d = differ(want[key], got[key], `${at}.${key}`, types[key])
    if (d) return d
  }
  return ''
}

// companion reports whether a key only says more about another field.
function companion (key, fields) {
  const m = /^(.*)_(name|names|slot|byte)$/.exec(key)
  return m !== null && types[key] === undefined && [m[1], m[1] + '_id', m[1] + 's'].some(k => k in fields)
}

// choose returns what the layout of one dialect reads, by the rule in docs/json.md.
function choose (record, read) {
  const openBC = record.dialect === 'openbc'
  const own = read(openBC ? 1 : 0)
  if (own.exact || bySender.has(record.name)) return own
  const other = read(openBC ? 0 : 1)
  if (other.exact) return other
  return openBC && own.error && (!other.error || other.read > own.read) ? other : own
}

const Message = await compile()
const by = {} // counts by opcode
const count = { messages: 0, equal: 0, inferred: 0 }
const unequal = []

for (const file of captures) {
  const ships = {} // species of objects
  const places = {} // last positions, by sender and object
  for await (const line of readline.createInterface({ input: fs.createReadStream(file) })) {
    const r = JSON.parse(line)
    if (!r.payload || r.status === 'duplicate' || !r.fields) continue
    const b = Buffer.from(r.payload, 'hex')
    const id = (r.dir === 'c2s' ? r.dst : r.src) + ' ' + r.fields.object_id
    if (r.fields.ship_source === 'inferred' || r.notes?.some(n => n.code === 'class')) { // only the session knows
      ships[id] = species[r.fields.ship]
      count.inferred++
    }
    const ship = ships[id] ?? 0
    const base = places[[r.src, r.dst, id]]
    const { got, error } = choose(r, dialect => {
      const m = new Message(new KaitaiStream(b), null, null, dialect, ship, base ? 1 : 0, ...(base ?? [0, 0, 0]))
      let error
      try { m._read() } catch (e) { error = e }
      fits = false
      const got = (m.body && plain(m.body)) ?? {}
      return { got, error, read: Math.max(0, ...Object.values(m.body?._debug ?? {}).map(d => d.end ?? d.start ?? 0)), exact: !error && (fits || m._io.isEof()) }
    })
    let d = differ(r.fields, got, r.name)
    if (!d && error && !r.error) d = `${r.name}: ${error}`
    if (!d && !error && r.status === 'malformed') d = `${r.name}: no error, want ${r.error.reason}`
    const o = by[r.name] ??= { messages: 0, equal: 0 }
    count.messages++
    o.messages++
    if (d) unequal.push({ file: `${path.basename(file)} ${r.frame}`, text: `${d} ${r.status ?? ''}` })
    else { count.equal++; o.equal++ }
    if (/^ObjectCreate/.test(r.name) && r.fields.species_name && got.species) ships[id] = got.species
    if (r.name === 'StateUpdate' && r.fields.flags & 1 && got.position) places[[r.src, r.dst, id]] = got.position
  }
}
console.log(JSON.stringify({ ...count, unequal: unequal.slice(0, 20), opcodes: by }))
