// What was refunded of an order. The database has no refunds, so it is 0.

export const refundedSatOf = (_orderId: number): number => 0;
