// Imported before anything that reads the limits.
process.env['SLUICE_LIMITS'] = JSON.stringify({
  // A test of a node that does not answer takes the way to it down.
  chainTimeoutMs: 8_000,
  chainSweepMs: 100,
  chainScanMs: 100,
  chainPollMs: 50,
  paymentMarginMs: 500,
  paymentCloseMs: 50,
  refundCheckMs: 50,
  replaceAfterMs: 500,
  gasPriceKeptMs: 100,
})
