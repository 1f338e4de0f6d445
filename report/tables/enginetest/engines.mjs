// The engines behind one interface: query(sql) returns rows of values that
// compare equal if the engines agree. The views are those of docs/tables.md.
import fs from 'node:fs'
import path from 'node:path'

// tablesIn returns the names of the tables below a folder.
function tablesIn (dir) {
  const fixed = fs.readdirSync(dir).filter(name => name !== 'messages' && !name.startsWith('.'))
  const messages = fs.readdirSync(path.join(dir, 'messages')).map(name => 'messages/' + name)
  return [...fixed, ...messages]
}

// viewOf returns the name of the view of a table: messages_Chat of messages/Chat.
const viewOf = table => table.replace('/', '_')

// plain makes a value of either engine comparable.
function plain (v) {
  if (v === null || v === undefined) return null
  if (typeof v === 'boolean') return v
  if (Array.isArray(v)) return v.map(plain)
  const s = String(v)
  if (/^\d{4}-\d\d-\d\d/.test(s)) return s.slice(0, 19).replace(' 00:00:00', '')
  if (s === '' || !isFinite(s)) return s
  return Number.isInteger(Number(s)) ? Number(s) : Number(Number(s).toPrecision(6)) // some columns are floats of 32 bits
}

export async function duckdb (dir) {
  let api
  try { api = await import('@duckdb/node-api') } catch (e) { return skipped('DuckDB', e) }
  const instance = await api.DuckDBInstance.create(':memory:')
  const c = await instance.connect()
  await c.run("set timezone = 'UTC'")
  for (const t of tablesIn(dir)) {
    await c.run(`create view "${viewOf(t)}" as select * from read_parquet('${dir}/${t}/*/part.parquet', union_by_name = true)`)
  }
  return {
    name: 'DuckDB',
    async query (sql) {
      const r = await c.runAndReadAll(sql)
      return { columns: r.columnNames(), rows: r.getRowsJson().map(row => row.map(plain)) }
    }
  }
}

export async function clickhouse (dir) {
  let api
  try { api = await import('chdb') } catch (e) { return skipped('ClickHouse', e) }
  const Session = api.Session ?? api.default.Session
  const session = new Session()
  const run = sql => session.query(sql, 'JSONCompact')
  run('set join_use_nulls = 1')
  for (const t of tablesIn(dir)) run(`create view "${viewOf(t)}" as select * from file('${dir}/${t}/*/part.parquet')`)
  return {
    name: 'ClickHouse',
    async query (sql) {
      const text = run(sql + " settings join_use_nulls = 1, output_format_json_quote_64bit_integers = 0")
      const r = JSON.parse(text)
      return { columns: r.meta.map(m => m.name), rows: r.data.map(row => row.map(plain)) }
    },
    close () { session.cleanup() }
  }
}

function skipped (name, e) {
  console.log(`SKIP ${name}: ${e.message.split('\n')[0]}`)
  return null
}
