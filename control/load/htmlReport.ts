import { htmlText } from './htmlText.ts'
import type { LoadReport, TargetReport } from './report.ts'
import { type Plot, svgPlot } from './svgPlot.ts'
import { textReport } from './textReport.ts'

const STYLE =
  'body{font:14px sans-serif;margin:2em auto;max-width:60em}pre{background:#f6f8fa;padding:1em;overflow:auto}svg{display:block;margin:1em 0}'

/** A report as one page that loads nothing from anywhere. */
export function htmlReport(report: LoadReport): string {
  const plots = plotsOf(report).map(svgPlot)
  return [
    '<!doctype html>',
    '<html lang="en"><head><meta charset="utf-8"><title>Load test</title>',
    `<style>${STYLE}</style></head><body>`,
    `<h1>Load test of ${report.gateways.map(({ url }) => htmlText(url)).join(' and ')}</h1>`,
    `<p>${htmlText(report.started_at)}</p>`,
    `<pre>${htmlText(textReport(report))}</pre>`,
    ...plots,
    '</body></html>',
    '',
  ].join('\n')
}

/** The plots of a report: how many requests were how fast, answers over time, and of a climb the p99 by rate. */
export function plotsOf({ gateways }: LoadReport): Plot[] {
  const distribution: Plot = {
    title: 'Time by share of requests',
    x: 'percent of requests that were at least as fast',
    y: 'ms',
    lines: gateways.flatMap((gateway) => [
      {
        title: nameOf(gateways, gateway, 'first token'),
        points: gateway.distribution.map(([at, first]) => [at, first]),
      },
      {
        title: nameOf(gateways, gateway, 'whole answer'),
        points: gateway.distribution.map(([at, , all]) => [at, all]),
      },
    ]),
  }
  const overTime: Plot = {
    title: 'Answers over time',
    x: 'seconds',
    y: 'answers a second',
    lines: gateways.flatMap((gateway) => {
      const { slices, slice_seconds: width } = gateway
      return [
        {
          title: nameOf(gateways, gateway, 'answers'),
          points: slices.map((one) => [one.seconds, one.answers / width]),
        },
        { title: nameOf(gateways, gateway, 'failed'), points: slices.map((one) => [one.seconds, one.errors / width]) },
      ]
    }),
  }
  const longest: Plot = {
    title: 'Longest answer over time',
    x: 'seconds',
    y: 'ms',
    lines: gateways.map((gateway) => {
      const points = gateway.slices.map(({ seconds, longestMs }) => [seconds, longestMs] as const)
      return { title: nameOf(gateways, gateway, 'longest'), points }
    }),
  }
  return [distribution, overTime, longest, ...gateways.flatMap(climbPlot)]
}

function climbPlot({ climb }: TargetReport): Plot[] {
  if (climb === null) return []
  const points = climb.steps.map((step) => [step.rate, step.p99_first_token_ms] as const)
  const lines = [{ title: 'p99 until the first token', points }]
  return [{ title: 'p99 by rate', x: 'requests a second that were due', y: 'ms', lines }]
}

function nameOf(gateways: readonly TargetReport[], { url }: TargetReport, what: string): string {
  return gateways.length > 1 ? `${what}, ${url}` : what
}
