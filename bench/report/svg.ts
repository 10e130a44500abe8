import { htmlText } from '../../control/load/htmlText.ts'

/** A bar of the picture. */
export interface SvgBar {
  readonly label: string
  /** How many times as much as the base; positive. */
  readonly ratio: number
  /** One of the classes of the style below: which of the compared gateways it is. */
  readonly series: 'a' | 'b' | 'c' | 'd' | 'e'
}

/** Bars that belong together. */
export interface SvgGroup {
  readonly title: string
  readonly bars: readonly SvgBar[]
}

export interface SvgChart {
  readonly title: string
  readonly subtitle: string
  /** The meaning of the line at 1. */
  readonly base: string
  readonly groups: readonly SvgGroup[]
}

const WIDTH = 880
const PLOT_LEFT = 220
const PLOT_RIGHT = 810
const TOP = 104
const BAR_HEIGHT = 16
const BAR_GAP = 4
const GROUP_GAP = 34
const FOOT = 34
const TICKS = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500]

// Colours with enough contrast on light and dark backgrounds, also for colour-blind readers.
const STYLE = `
  .ground { fill: #ffffff } .ink { fill: #1f2328 } .soft { fill: #59636e } .grid { stroke: #d1d9e0 }
  .one { stroke: #59636e; stroke-width: 1.5 } .a { fill: #8c959f } .b { fill: #bf8700 } .c { fill: #54aeff } .d { fill: #0550ae } .e { fill: #1a7f37 }
  text { font-family: -apple-system, "Segoe UI", "Noto Sans", Helvetica, Arial, sans-serif; font-size: 12px }
  .title { font-size: 17px; font-weight: 600 } .group { font-weight: 600; paint-order: stroke; stroke: #ffffff; stroke-width: 5px }
  @media (prefers-color-scheme: dark) {
    .ground { fill: #0d1117 } .ink { fill: #f0f6fc } .soft { fill: #9198a1 } .grid { stroke: #3d444d }
    .one { stroke: #9198a1 } .a { fill: #656c76 } .b { fill: #d29922 } .c { fill: #79c0ff } .d { fill: #388bfd } .e { fill: #57ab5a }
    .group { stroke: #0d1117 }
  }`

/**
 * Draws ratios as bars that begin at 1 on a logarithmic scale: higher costs than the base to the right, lower costs to the
 * left.
 * @returns an SVG document with its own background, which follows the reader's colour scheme
 */
export function ratioChart(chart: SvgChart): string {
  const ratios = chart.groups.flatMap(({ bars }) => bars.map(({ ratio }) => ratio))
  const low = tickBelow(Math.min(0.5, ...ratios))
  const high = tickAbove(Math.max(5, ...ratios))
  const x = (ratio: number): number => {
    const share = Math.log(ratio / low) / Math.log(high / low)
    return PLOT_LEFT + share * (PLOT_RIGHT - PLOT_LEFT)
  }
  const rows: string[] = []
  let y = TOP
  for (const group of chart.groups) {
    rows.push(text(16, y - 6, 'ink group', group.title))
    for (const bar of group.bars) {
      rows.push(barRow(bar, y, x))
      y += BAR_HEIGHT + BAR_GAP
    }
    y += GROUP_GAP
  }
  const bottom = y - GROUP_GAP + BAR_GAP
  const ticks = TICKS.filter((tick) => tick >= low && tick <= high).map((tick) => tickLine(tick, x(tick), bottom))
  const height = bottom + FOOT
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${htmlText(chart.title)}">
<style>${STYLE}
</style>
<rect class="ground" width="${WIDTH}" height="${height}" rx="6"/>
${text(16, 28, 'ink title', chart.title)}
${text(16, 46, 'soft', chart.subtitle)}
${ticks.join('\n')}
${rows.join('\n')}
${text(x(1) + 4, TOP - 34, 'soft', chart.base)}
</svg>
`
}

function barRow({ label, ratio, series }: SvgBar, y: number, x: (ratio: number) => number): string {
  const [from, to] = ratio < 1 ? [x(ratio), x(1)] : [x(1), x(ratio)]
  const middle = y + BAR_HEIGHT / 2 + 4
  const shown = `${ratio.toFixed(ratio < 10 ? 2 : 0)}x`
  const width = Math.max(1.5, to - from)
  return [
    text(PLOT_LEFT - 10, middle, 'soft', label, 'end'),
    `<rect class="${series}" x="${from.toFixed(1)}" y="${y}" width="${width.toFixed(1)}" height="${BAR_HEIGHT}" rx="2"/>`,
    text(Number((from + width).toFixed(1)) + 6, middle, 'ink', shown),
  ].join('\n')
}

function tickLine(tick: number, x: number, bottom: number): string {
  const place = x.toFixed(1)
  const line = `<line class="${tick === 1 ? 'one' : 'grid'}" x1="${place}" x2="${place}" y1="${TOP - 28}" y2="${bottom}"/>`
  return `${line}\n${text(Number(place), bottom + 18, 'soft', `${tick}x`, 'middle')}`
}

function tickBelow(value: number): number {
  return TICKS.findLast((tick) => tick <= value) ?? (TICKS[0] as number)
}

function tickAbove(value: number): number {
  return TICKS.find((tick) => tick >= value) ?? (TICKS.at(-1) as number)
}

function text(x: number, y: number, style: string, content: string, anchor?: 'middle' | 'end'): string {
  const place = anchor === undefined ? '' : ` text-anchor="${anchor}"`
  return `<text class="${style}" x="${x}" y="${y}"${place}>${htmlText(content)}</text>`
}
