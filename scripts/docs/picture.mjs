// Draws the picture of docs/images/overview.txt.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const BOX = { width: 250, height: 66 }
const GAP = { x: 170, y: 74 }
const MARGIN = 20

function escaped(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

function place(box) {
  return {
    x: MARGIN + (box.column - 1) * (BOX.width + GAP.x),
    y: MARGIN + (box.row - 1) * (BOX.height + GAP.y),
  }
}

function text(x, y, content, style = 'label', anchor = 'middle') {
  return `<text x="${x}" y="${y}" class="${style}" text-anchor="${anchor}">${escaped(content)}</text>`
}

function drawnBox(box) {
  const { x, y } = place(box)
  const middle = x + BOX.width / 2
  const rect = `<rect x="${x}" y="${y}" width="${BOX.width}" height="${BOX.height}" rx="8" class="box"/>`
  return [rect, text(middle, y + 28, box.title, 'title'), text(middle, y + 49, box.line)]
}

function line(x1, y1, x2, y2) {
  return `<line x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}" class="arrow" marker-end="url(#head)"/>`
}

/** An arrow between boxes of one row, and one back below it where `back` is its label. */
function acrossRow(a, b, label, back) {
  const isRight = a.x < b.x
  const [start, end] = isRight ? [a.x + BOX.width, b.x] : [a.x, b.x + BOX.width]
  const [middle, y] = [(start + end) / 2, a.y + BOX.height / 2]
  if (back === undefined) return [line(start, y, end, y), text(middle, y - 8, label)]
  const there = [line(start, y - 10, end, y - 10), text(middle, y - 18, label)]
  return [...there, line(end, y + 10, start, y + 10), text(middle, y + 28, back)]
}

/** An arrow from box to box: across, up or down, or from a box to the one below in the next column. */
function drawnArrow(from, to, label, back) {
  const [a, b] = [place(from), place(to)]
  if (from.row === to.row) return acrossRow(a, b, label, back)
  if (from.column !== to.column) {
    const [x1, y1, x2, y2] = [a.x + BOX.width - 30, a.y + BOX.height, b.x, b.y + BOX.height / 2]
    return [line(x1, y1, x2, y2), text((x1 + x2) / 2 + 12, (y1 + y2) / 2 - 4, label, 'label', 'start')]
  }
  const isDown = a.y < b.y
  const [start, end] = isDown ? [a.y + BOX.height, b.y] : [a.y, b.y + BOX.height]
  const middle = a.x + BOX.width / 2
  return [line(middle, start, middle, end), text(middle + 10, (start + end) / 2 + 4, label, 'label', 'start')]
}

/**
 * docs/images/overview.svg, drawn from the text next to it.
 * @param {string} root the folder of the project
 * @returns {string} the picture as SVG
 */
export function overviewPicture(root) {
  const boxes = new Map()
  const parts = []
  for (const row of readFileSync(join(root, 'docs/images/overview.txt'), 'utf8').split('\n')) {
    const [kind, one, two, ...rest] = row.split(' ')
    if (kind === 'box') {
      const [at, ...words] = rest
      const [title, below] = words.join(' ').split(' | ')
      const box = { column: Number(two), row: Number(at), title, line: below }
      boxes.set(one, box)
      parts.push(...drawnBox(box))
    } else if (kind === 'arrow' || kind === 'both') {
      const [label, back] = rest.join(' ').split(' | ')
      parts.push(...drawnArrow(boxes.get(one), boxes.get(two), label, back))
    }
  }
  const width = 2 * MARGIN + 3 * BOX.width + 2 * GAP.x
  const height = 2 * MARGIN + 3 * BOX.height + 2 * GAP.y
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">
<title>The parts of Sluice and what passes between them</title>
<style>
text { font-family: system-ui, sans-serif; fill: #1f2933 }
.title { font-size: 16px; font-weight: 600 }
.label { font-size: 12px }
.box { fill: #eef4fa; stroke: #33658a; stroke-width: 1.5 }
.arrow { stroke: #33658a; stroke-width: 1.5 }
</style>
<defs><marker id="head" markerWidth="9" markerHeight="8" refX="8" refY="4" orient="auto"><path d="M0,0 L9,4 L0,8 z" fill="#33658a"/></marker></defs>
<rect width="100%" height="100%" rx="10" fill="#ffffff"/>
${parts.join('\n')}
</svg>
`
}
