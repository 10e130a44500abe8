// Puts figures of bench/REPORT.md into README.md, so that both say the same.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const PLACE = /(<!-- figures of bench\/REPORT\.md -->)[\s\S]*?(<!-- end of figures -->)/g

/** The column "measured" of the report's row that begins with a text. @throws when there is none */
function measured(report, row) {
  const line = report.split('\n').find((one) => one.startsWith(`| ${row}`))
  if (line === undefined) throw new Error(`bench/REPORT.md has no row "${row}"`)
  return line.split('|')[4].trim()
}

/**
 * README.md with the figures of the report.
 * @param {string} root the folder of the project
 * @returns {string} its text
 */
export function readmeWithFigures(root) {
  const report = readFileSync(join(root, 'bench/REPORT.md'), 'utf8')
  const [portkey, nginx, chunk, memory, booked] = [
    'CPU per small request, full money path, against Portkey',
    'CPU per small request, full money path, against nginx',
    'CPU per streamed chunk (100-chunk streams), full money path, against nginx; unpaced, each chunk sent by itself',
    'RSS growth',
    'settlement into PostgreSQL',
  ].map((row) => measured(report, row))
  const times = (ratio) => `${ratio.replace(/x$/, '')} times`
  const texts = [
    ` With the whole money path,
  a small request takes ${portkey} of the CPU time that Portkey takes for it and ${times(nginx)} that of nginx, a streamed chunk
  ${times(chunk)} that of nginx; memory grew by ${memory} over 500,000 requests. `,
    ` One control books
  ${booked} receipts a second. `,
  ]
  return readFileSync(join(root, 'README.md'), 'utf8').replace(PLACE, (_, begin, end) => begin + texts.shift() + end)
}
