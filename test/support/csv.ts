import assert from 'node:assert/strict'
import { parseUsd } from '../../contract/money/units.ts'

/** The lines of a CSV text (RFC 4180) by the names of its headings. */
export function readCsv(text: string): Record<string, string | undefined>[] {
  assert.ok(text.endsWith('\r\n'), 'the last line ends')
  const [headings = [], ...lines] = text.slice(0, -2).split('\r\n').map(cellsOf)
  return lines.map((cells) => {
    assert.equal(cells.length, headings.length)
    return Object.fromEntries(headings.map((heading, i) => [heading, cells[i]]))
  })
}

function cellsOf(line: string): string[] {
  return [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(
    ([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain ?? '',
  )
}

/** The units of a signed amount of US dollars. */
export function statementUnits(usd: string | undefined): number {
  const isNegative = usd?.startsWith('-') === true
  const units = parseUsd(isNegative ? (usd?.slice(1) ?? '') : (usd ?? '')) ?? assert.fail(`not an amount: ${usd}`)
  return isNegative ? -units : units
}
