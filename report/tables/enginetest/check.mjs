// usage: node check.mjs PROGRAM ROOT
// Makes tables of the fixtures, and checks with each engine that can be had
// that their counts are those of stats, and that the queries in docs/tables.md
// give the documented results. With UPDATE_GOLDEN=1 it writes these results.
import { execFileSync } from 'node:child_process'
import assert from 'node:assert/strict'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { duckdb, clickhouse, storage } from './engines.mjs'

const [program, root] = process.argv.slice(2).map(p => path.resolve(p))
// c21 is one match at two places.
const captures = ['battle_mix.pcap.gz', 'forged_small.pcap', 'lossy.pcap', 'networked_battle.pcap', 'opcode_tour.pcap', 'stock_client.pcap', 'two_teams.pcap',
  'field/c21.host.pcap.gz', 'field/c21.client.pcap.gz'].map(name => path.join(root, 'fixtures/captures', name))
const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'bcdissect-tables-'))
try {
  execFileSync(program, ['tables', dir, ...captures])
  await all(async engines => {
    for (const e of engines) await counts(e)
    await recipes(engines)
  }, await duckdb(program, dir), await clickhouse(program, dir))
  execFileSync(program, ['tables', dir, '--compact'])
  await all(recipes, await duckdb(program, dir), await clickhouse(program, dir))
  const s3 = await storage(dir)
  try {
    await all(recipes, s3 && await clickhouse(program, s3.url))
  } finally {
    s3?.close()
  }
} finally {
  fs.rmSync(dir, { recursive: true })
}

// all checks with all engines that can be had.
async function all (check, ...engines) {
  engines = engines.filter(e => e)
  if (engines.length > 0) await check(engines)
  for (const e of engines) e.close?.()
  console.log(`ok: ${engines.map(e => e.name).join(' and ')}`)
}

// counts compares the counts of an engine with those of stats.
async function counts (engine) {
  const one = async sql => (await engine.query(sql)).rows[0][0]
  let checked = 0
  for (const file of captures) {
    const want = JSON.parse(execFileSync(program, ['stats', '-T', 'json', file]))
    const name = path.basename(file).replace(/\.(gz|zst)$/, '')
    const of = where => `from records where capture = '${name}' and ${where}`
    const game = "payload_len > 0 and status <> 'duplicate'"
    const is = async (sql, value, what) => {
      assert.equal(await one(sql), value, `${engine.name}, ${name}: ${what}`)
      checked++
    }
    await is(`select frames from captures where capture = '${name}'`, want.frames, 'frames')
    for (const [kind, n] of Object.entries(want.datagrams)) await is(`select datagrams_${kind} from captures where capture = '${name}'`, n, kind)
    await is('select count(*) ' + of('type is not null'), want.messages.total, 'messages')
    for (const [type, n] of Object.entries(want.messages.by_type)) await is('select count(*) ' + of(`type = ${Number(type)}`), n, type)
    await is('select count(*) ' + of('reliable'), want.reliability.reliable, 'reliable')
    await is('select count(*) ' + of('type is not null and not reliable'), want.reliability.unreliable, 'unreliable')
    await is('select count(*) ' + of("type is not null and status = 'duplicate'"), want.reliability.duplicates, 'duplicates')
    await is('select count(*) ' + of("fragment_index is not null and kind = 'standard'"), want.reliability.fragments, 'fragments')
    await is('select count(*) ' + of(`fragment_index is not null and ${game}`), want.reliability.reassembled, 'reassembled')
    await is(`select incomplete_messages from captures where capture = '${name}'`, want.reliability.incomplete, 'incomplete')
    for (const o of want.opcodes) {
      const rows = of(`opcode = ${o.opcode} and ${game}`)
      await is('select count(*) ' + rows, o.total, o.name)
      await is('select count(*) ' + rows + " and dir = 'c2s'", o.c2s, o.name + ' c2s')
      await is('select count(*) ' + rows + " and dir = 's2c'", o.s2c, o.name + ' s2c')
      await is('select sum(payload_len) ' + rows, o.bytes, o.name + ' bytes')
    }
    for (const dir of ['c2s', 's2c']) {
      for (const [flags, n] of Object.entries(want.state_flags[dir])) {
        await is(`select count(*) from updates where capture = '${name}' and dir = '${dir}' and flags = ${Number(flags)}`, n, `flags ${flags} ${dir}`)
      }
    }
    await is('select coalesce(sum(payload_len), 0) ' + of(game), want.payload_bytes, 'payload bytes')
    await is('select coalesce(sum(length(residue)), 0) / 2 ' + of(game), want.residue_bytes, 'residue')
    await is(`select errors from captures where capture = '${name}'`, want.errors, 'errors')
    const net = JSON.parse(execFileSync(program, ['stats', '--network', '-T', 'json', file]))
    for (const key of ['datagrams', 'bytes', 'messages', 'retransmissions', 'duplicates', 'acknowledged', 'lost', 'late', 'rtt_n']) {
      const sum = net.links.reduce((n, l) => n + l[key], 0)
      await is(`select coalesce(sum(${key}), 0) from links where capture = '${name}'`, sum, 'links ' + key)
    }
    const story = JSON.parse(execFileSync(program, ['session', '-T', 'json', file]))
    for (const list of ['players', 'lives', 'kills', 'scores', 'shots', 'damage', 'chat']) {
      await is(`select count(*) from ${list} where capture = '${name}'`, story.matches.reduce((n, m) => n + m[list].length, 0), list)
    }
  }
  console.log(`${engine.name}: ${checked} counts agree with stats and session`)
}

// recipes runs the queries of the page.
async function recipes (engines) {
  const page = path.join(root, 'docs/tables.md')
  const text = fs.readFileSync(page, 'utf8')
  let ran = 0
  const parts = text.split(/(```sql\n[^]*?```\n\n```text\n[^]*?```\n)/)
  for (let i = 1; i < parts.length; i += 2) {
    const [, sql, result] = parts[i].match(/^```sql\n([^]*?)```\n\n```text\n([^]*?)```\n$/)
    let got
    for (const e of engines) {
      const table = format(await e.query(sql.trim().replace(/;$/, '')))
      if (got === undefined) got = table
      assert.equal(table, got, `${e.name}: another result than ${engines[0].name}\n${sql}`)
    }
    if (process.env.UPDATE_GOLDEN) parts[i] = '```sql\n' + sql + '```\n\n```text\n' + got + '```\n'
    else assert.equal(got, result, sql)
    ran++
  }
  assert.ok(ran >= 12, `only ${ran} queries`)
  if (process.env.UPDATE_GOLDEN) fs.writeFileSync(page, parts.join(''))
  console.log(`${ran} queries of docs/tables.md`)
}

// format writes a result as columns.
function format ({ columns, rows }) {
  const cells = [columns, ...rows.map(r => r.map(v => v === null ? '' : String(v)))]
  const width = columns.map((_, i) => Math.max(...cells.map(r => r[i].length)))
  return cells.map(r => r.map((v, i) => v.padEnd(width[i])).join('  ').trimEnd() + '\n').join('')
}
