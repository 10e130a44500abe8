// Imported first by the tests of the book: shortens what would make them wait.
process.env['SLUICE_LIMITS'] = JSON.stringify({
  settlementClaimIdleMs: 300,
  settlementRetryMs: 50,
  settlementBlockMs: 100,
  debitVoidMs: 500,
  debitCheckMs: 50,
  linkExpiryMs: 50,
  referralPayMs: 20,
  admissionPollMs: 20,
  admissionCheckMs: 50,
  orphanCheckMs: 50,
  heartbeatTimeoutMs: 600,
  ownerScanMs: 200,
  grantSweepMs: 50,
  grantsPerAccountMax: 5,
  auditRechecksMax: 3,
  ...JSON.parse(process.env['SLUICE_LIMITS'] ?? '{}'),
})
