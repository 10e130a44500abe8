import { htmlText } from './htmlText.ts'

/** A line of a plot. */
export interface PlotLine {
  readonly title: string
  readonly points: readonly (readonly [x: number, y: number])[]
}

export interface Plot {
  readonly title: string
  readonly x: string
  readonly y: string
  readonly lines: readonly PlotLine[]
}

const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [640, 260, 60, 12, 30, 40]
const COLORS = ['#1f6feb', '#d1570a', '#2f8f46', '#8a3ffc']
const TICKS = 5

/** A plot as SVG that needs nothing else. Both axes begin at 0. */
export function svgPlot({ title, x, y, lines }: Plot): string {
  const points = lines.flatMap((line) => line.points)
  const top = (place: 0 | 1): number => niceTop(Math.max(0, ...points.map((point) => point[place])))
  const [xTop, yTop] = [top(0), top(1)]
  const px = (value: number): string => (LEFT + (value / xTop) * (WIDTH - LEFT - RIGHT)).toFixed(1)
  const py = (value: number): string => (HEIGHT - BOTTOM - (value / yTop) * (HEIGHT - TOP - BOTTOM)).toFixed(1)
  const ticks = Array.from({ length: TICKS + 1 }, (_, i) => i / TICKS)
  const text = (at: string, anchor: string, words: string, color = '#444'): string =>
    `<text ${at} text-anchor="${anchor}" fill="${color}">${htmlText(words)}</text>`
  const grid = ticks.flatMap((share) => [
    `<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${py(share * yTop)}" y2="${py(share * yTop)}" stroke="#ddd"/>`,
    text(`x="${LEFT - 6}" y="${py(share * yTop)}" dy="4"`, 'end', label(share * yTop)),
    text(`x="${px(share * xTop)}" y="${HEIGHT - BOTTOM + 16}"`, 'middle', label(share * xTop)),
  ])
  const drawn = lines.flatMap((line, i) => {
    const color = COLORS[i % COLORS.length] ?? '#000'
    const path = line.points.map((point) => `${px(point[0])},${py(point[1])}`).join(' ')
    return [
      `<polyline points="${path}" fill="none" stroke="${color}" stroke-width="1.5"/>`,
      text(`x="${WIDTH - RIGHT - 4}" y="${TOP + 14 * (i + 1)}"`, 'end', line.title, color),
    ]
  })
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" font-family="sans-serif" font-size="11">`,
    `<title>${htmlText(title)}</title>`,
    '<rect width="100%" height="100%" fill="#fff"/>',
    text(`x="${LEFT}" y="16" font-size="13"`, 'start', title, '#000'),
    text(`x="${(LEFT + WIDTH) / 2}" y="${HEIGHT - 6}"`, 'middle', x),
    text(`x="6" y="${TOP - 4}"`, 'start', y),
    ...grid,
    ...drawn,
    '</svg>',
  ].join('\n')
}

/** The end of an axis: 1, 2, 2.5 or 5 times a power of ten. */
export function niceTop(value: number): number {
  if (value <= 0) return 1
  const power = 10 ** Math.floor(Math.log10(value))
  const step = [1, 2, 2.5, 5, 10].find((factor) => factor * power >= value) ?? 10
  return step * power
}

function label(value: number): string {
  return String(Number(value.toPrecision(3)))
}
