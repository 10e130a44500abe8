import './paymentLimits.ts'

// Imported before anything that reads the limits: the payer's own transactions are given up after a moment, and
// one refund is looked at in a pass.
process.env['SLUICE_LIMITS'] = JSON.stringify({
  ...(JSON.parse(process.env['SLUICE_LIMITS'] ?? '{}') as object),
  payerTransactionMs: 1_500,
  refundBatchMax: 1,
})
