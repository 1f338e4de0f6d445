// The engines behind one interface: query(sql) returns rows of values that
// compare equal if the engines agree. The views are those of docs/tables.md.
import { execFileSync, spawn } from 'node:child_process'
import fs from 'node:fs'
import { createRequire } from 'node:module'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'

// viewsOf returns the statements that the program prints for a folder.
function viewsOf (program, dir, engine) {
  const sql = execFileSync(program, ['tables', dir, '--views', engine], { encoding: 'utf8' })
  return sql.replace(/^--.*$/gm, '').split(/;\s*\n/).map(s => s.trim()).filter(s => s)
}

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

export async function duckdb (program, dir) {
  let api
  try { api = await import('@duckdb/node-api') } catch (e) { return skipped('DuckDB', e) }
  const instance = await api.DuckDBInstance.create(':memory:')
  const c = await instance.connect()
  await c.run("set timezone = 'UTC'")
  for (const sql of viewsOf(program, dir, 'duckdb')) await c.run(sql)
  return {
    name: 'DuckDB',
    async query (sql) {
      const r = await c.runAndReadAll(sql)
      return { columns: r.columnNames(), rows: r.getRowsJson().map(row => row.map(plain)) }
    }
  }
}

export async function clickhouse (program, dir) {
  let api
  try { api = await import('chdb') } catch (e) { return skipped('ClickHouse', e) }
  const Session = api.Session ?? api.default.Session
  const session = new Session()
  const run = sql => session.query(sql, 'JSONCompact')
  run('set join_use_nulls = 1')
  for (const sql of viewsOf(program, dir, 'clickhouse')) run(sql)
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

// storage serves a folder as a bucket of an S3-compatible storage. ClickHouse works
// in the thread of its caller, so that the storage is a process of its own.
export async function storage (dir) {
  let bin
  try { bin = createRequire(import.meta.url).resolve('s3rver/bin/s3rver.js') } catch (e) { return skipped('S3', e) }
  const data = fs.mkdtempSync(path.join(os.tmpdir(), 'bcdissect-s3-'))
  const port = await new Promise(resolve => {
    const s = net.createServer().listen(0, '127.0.0.1', () => { const { port } = s.address(); s.close(() => resolve(port)) })
  })
  const server = spawn(process.execPath, [bin, '-d', data, '-a', '127.0.0.1', '-p', port, '-s', '--allow-mismatched-signatures'], { stdio: 'ignore' })
  Object.assign(process.env, { AWS_ACCESS_KEY_ID: 'S3RVER', AWS_SECRET_ACCESS_KEY: 'S3RVER', AWS_EC2_METADATA_DISABLED: 'true' })
  const bucket = `http://127.0.0.1:${port}/season`
  const put = async (url, body) => {
    const answer = await fetch(url, { method: 'PUT', body })
    if (!answer.ok) throw new Error(`${url}: ${answer.status}`)
  }
  for (let tries = 0; ; tries++) {
    try { await put(bucket); break } catch (e) { if (tries > 100) throw e }
    await new Promise(resolve => setTimeout(resolve, 50))
  }
  for (const name of fs.readdirSync(dir, { recursive: true })) {
    const file = path.join(dir, name)
    if (fs.statSync(file).isFile()) await put(`${bucket}/league/${encodeURI(name)}`, fs.readFileSync(file))
  }
  return { url: bucket + '/league', close () { server.kill(); fs.rmSync(data, { recursive: true }) } }
}

function skipped (name, e) {
  console.log(`SKIP ${name}: ${e.message.split('\n')[0]}`)
  return null
}
