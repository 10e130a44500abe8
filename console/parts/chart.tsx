import 'uplot/dist/uPlot.min.css'
import { useEffect, useRef, useState } from 'preact/hooks'
import uPlot from 'uplot'
import { isDark } from '../state/theme.ts'
import type { Series } from '../usage/pivot.ts'

const HEIGHT = 240
const BAR_SHARE = 0.72
const BAR_WIDTH_MAX = 48
const AXIS_WIDTH = 76
const AXIS_HEIGHT = 30
/** How far apart the names of periods stand at least. */
const LABEL_SPACE = 64

/** Colors of series, the first for the most expensive; both sets can be told apart on their ground. */
const COLORS = {
  light: ['#2456d6', '#0f8a7a', '#c2691c', '#8a4fc7', '#b63a6b', '#4d7c0f', '#6b7688'],
  dark: ['#8fb0ff', '#5ad1bf', '#f0a865', '#c79bf2', '#f28bb4', '#a9d45b', '#9aa5b8'],
} as const
const INK = { light: ['#5a6475', '#e6e9ef'], dark: ['#9aa5b8', '#262d3a'] } as const

/** The color of the nth series. */
export function colorOf(place: number): string {
  const set = COLORS[isDark.value ? 'dark' : 'light']
  return set[place % set.length] ?? set[0]
}

interface ChartProps {
  readonly label: string
  readonly periods: readonly string[]
  readonly series: readonly Series[]
  /** A value as the axis shows it. */
  readonly shown: (value: number) => string
}

/** Bars of a period, stacked by series. The same figures are in the table beside it. */
export function StackedBars({ label, periods, series, shown }: ChartProps) {
  const box = useRef<HTMLDivElement>(null)
  const [width, setWidth] = useState(0)
  const dark = isDark.value
  useEffect(() => {
    if (box.current === null) return
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry?.contentRect.width ?? 0)))
    observer.observe(box.current)
    return () => observer.disconnect()
  }, [])
  useEffect(() => {
    if (box.current === null || width === 0) return
    const plot = new uPlot(
      optionsOf({ periods, series, shown, label }, width, dark),
      dataOf(periods, series),
      box.current,
    )
    return () => plot.destroy()
  }, [width, dark, periods, series, shown, label])
  return <div ref={box} class="chart" role="img" aria-label={label} />
}

/** A higher bar is drawn first, so that those before it lie on it. */
function dataOf(periods: readonly string[], series: readonly Series[]): uPlot.AlignedData {
  const sums = new Array<number>(periods.length).fill(0)
  const stacked = series.map(({ values }) => {
    for (const [place, value] of values.entries()) sums[place] = (sums[place] ?? 0) + value
    return [...sums]
  })
  return [periods.map((_, place) => place), ...stacked.reverse()]
}

function optionsOf({ periods, series, shown }: ChartProps, width: number, dark: boolean): uPlot.Options {
  const [ink, grid] = INK[dark ? 'dark' : 'light']
  const bars = uPlot.paths.bars?.({ size: [BAR_SHARE, BAR_WIDTH_MAX] })
  const axis = { stroke: ink, font: '12px system-ui', ticks: { show: false } }
  return {
    width,
    height: HEIGHT,
    legend: { show: false },
    cursor: { show: false },
    scales: { x: { time: false, range: [-0.6, periods.length - 0.4] }, y: { range: (_, __, most) => [0, most || 1] } },
    axes: [
      {
        ...axis,
        size: AXIS_HEIGHT,
        space: LABEL_SPACE,
        incrs: [1, 2, 5, 7, 10],
        grid: { show: false },
        values: (_, places) => places.map((place) => periodName(periods[place] ?? '')),
      },
      { ...axis, size: AXIS_WIDTH, grid: { stroke: grid, width: 1 }, values: (_, values) => values.map(shown) },
    ],
    series: [
      {},
      ...series
        .map(({ name }, place) => ({
          label: name,
          fill: colorOf(place),
          width: 0,
          points: { show: false },
          ...(bars && { paths: bars }),
        }))
        .reverse(),
    ],
  }
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** 2027-01-31 as 31 Jan, 2027-01 as Jan 2027. */
function periodName(period: string): string {
  const [year = '', month = '', day] = period.split('-')
  const name = MONTHS[Number(month) - 1] ?? ''
  return day === undefined ? `${name} ${year}` : `${Number(day)} ${name}`
}

/** The names of series, each with its color. */
export function Legend({ series }: { readonly series: readonly Series[] }) {
  return (
    <ul class="legend">
      {series.map(({ name }, place) => (
        <li key={name}>
          <i style={{ background: colorOf(place) }} aria-hidden="true" />
          {name}
        </li>
      ))}
    </ul>
  )
}
