// The health check of a container: node health.mjs /live or /ready. It runs in the container of a proxy or of a control, so it
// asks at the metrics ports of both; the exit status is 0 when one of them answers 200.
import { request } from 'node:http'

const TIMEOUT_MS = 4_000
const { SLUICE_METRICS_PORT: proxyPort, SLUICE_CONTROL_METRICS_PORT: controlPort } = process.env
const path = process.argv[2] ?? '/live'

function asks(port) {
  return new Promise((resolve) => {
    const call = request({ host: '127.0.0.1', port, path, timeout: TIMEOUT_MS }, ({ statusCode }) => {
      resolve(statusCode === 200)
    })
    call.once('error', () => resolve(false))
    call.once('timeout', () => call.destroy())
    call.end()
  })
}

const ports = [proxyPort, controlPort].filter(Boolean)
process.exit((await Promise.all(ports.map(asks))).includes(true) ? 0 : 1)
