// usage: node plots.mjs PROGRAM ROOT
// Draws the plots of docs/tables.md from the tables of a fixture, as SVG.
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { duckdb } from './engines.mjs'

const [program, root] = process.argv.slice(2).map(p => path.resolve(p))
const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'bcdissect-plots-'))
const colours = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#56b4e9', '#e69f00', '#882255', '#555555'] // safe for the colour-blind
const escape = s => String(s).replace(/[&<>"]/g, c => `&#${c.charCodeAt(0)};`)
const text = (x, y, s, more = '') => `<text x="${x}" y="${y}" ${more}>${escape(s)}</text>`
const svg = (w, h, title, body) => `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${w} ${h}" font-family="sans-serif" font-size="12" role="img">
<title>${escape(title)}</title>
<rect width="100%" height="100%" fill="#fff"/>
${text(10, 20, title, 'font-size="14" font-weight="bold"')}
${body.join('\n')}
</svg>
`

try {
  execFileSync(program, ['tables', dir, path.join(root, 'fixtures/captures/battle_mix.pcap.gz')])
  const db = await duckdb(program, dir)
  const save = (name, s) => fs.writeFileSync(path.join(root, 'docs/images', name), s)
  save('tables-updates.svg', updates((await db.query(`select player_name, rel, updates / 10.0 as per_second from links
    where dir = 'c2s' and player_name is not null order by player_name, rel`)).rows))
  save('tables-messages.svg', messages((await db.query(`select name, count(*) as n from records
    where name is not null and status <> 'duplicate' and copy_of is null group by name order by n desc, name limit 12`)).rows))
} finally {
  fs.rmSync(dir, { recursive: true })
}

// updates draws a line for each player.
function updates (rows) {
  const end = Math.max(...rows.map(r => r[1] + 10)); const top = Math.ceil(Math.max(...rows.map(r => r[2])) / 5) * 5
  const x = t => 50 + t / end * 520; const y = v => 250 - v / top * 200
  const body = []
  for (let v = 0; v <= top; v += top / 5) body.push(`<path d="M50 ${y(v)}H570" stroke="#ddd"/>`, text(44, y(v) + 4, v, 'text-anchor="end"'))
  for (let t = 0; t <= end; t += 20) body.push(text(x(t), 268, t, 'text-anchor="middle"'))
  body.push(text(310, 286, 'seconds since the first frame', 'text-anchor="middle"'))
  const names = [...new Set(rows.map(r => r[0]))]
  names.forEach((name, i) => {
    const points = rows.filter(r => r[0] === name).map(r => `${x(r[1] + 5).toFixed(1)},${y(r[2]).toFixed(1)}`)
    body.push(`<polyline points="${points.join(' ')}" fill="none" stroke="${colours[i % colours.length]}" stroke-width="2"/>`,
      text(580, 60 + 18 * i, name, `fill="${colours[i % colours.length]}"`))
  })
  return svg(680, 300, 'Ship updates a second that each player sends', body)
}

// messages draws a bar for each kind.
function messages (rows) {
  const most = Math.log10(rows[0][1]) + 0.1
  const body = rows.map(([name, n], i) => {
    const w = Math.log10(n) / most * 420
    return text(150, 52 + 20 * i, name, 'text-anchor="end"') + `<rect x="158" y="${40 + 20 * i}" width="${w.toFixed(1)}" height="15" fill="${colours[0]}"/>` +
      text((164 + w).toFixed(1), 52 + 20 * i, n)
  })
  return svg(680, 60 + 20 * rows.length, 'Game messages by kind, copies left out (logarithmic)', body)
}
