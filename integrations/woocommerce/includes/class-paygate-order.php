<?php
/**
 * An order of the shop and its orders at paygate: what a state of paygate's does to it.
 * It counts no money: paygate says what is paid, this class compares prices.
 *
 * All that changes the memory (META) runs in locked(), on an order that was read after the lock was
 * taken. A version that is not above the known one changes nothing.
 */

defined( 'ABSPATH' ) || exit;

final class Paygate_Order {

	/** Orders at paygate by their id, the newest last: version, status, received, paid, fell. */
	const META = '_paygate_orders';

	/** Longer than a request to paygate may take, and shorter than paygate waits for an answer. */
	const LOCK_SECONDS = 16;

	/** @var array<int, true> The orders whose lock this process has. */
	private static $locked = array();

	/** @var WC_Order */
	public $order;

	private function __construct( WC_Order $order ) {
		$this->order = $order;
	}

	/**
	 * Runs work on the order as it is in the database, while no other request changes it. Two events
	 * at once would otherwise both complete the payment, and take the goods from the stock twice.
	 *
	 * GET_LOCK waits, belongs to the connection, and ends with it: a PHP process that dies leaves no
	 * lock behind, as a row or an option would. MySQL, MariaDB and WordPress' SQLite have it.
	 *
	 * @param callable $work gets a Paygate_Order
	 * @return mixed what work returns; null if there is no such order
	 * @throws Paygate_Exception if the lock is not free in time
	 */
	public static function locked( int $order_id, callable $work ) {
		global $wpdb;
		// The name is the server's, not the database's, and has at most 64 characters.
		$name = 'paygate_' . md5( DB_NAME . ' ' . $wpdb->prefix . ' ' . $order_id );
		if ( '1' !== (string) $wpdb->get_var( $wpdb->prepare( 'SELECT GET_LOCK(%s, %d)', $name, self::LOCK_SECONDS ) ) ) {
			throw new Paygate_Exception( 'the order is locked by another request', 0 );
		}
		self::$locked[ $order_id ] = true;
		try {
			self::forget_cached( $order_id );
			$order = wc_get_order( $order_id );
			return $order instanceof WC_Order ? $work( new self( $order ) ) : null;
		} finally {
			unset( self::$locked[ $order_id ] );
			$wpdb->get_var( $wpdb->prepare( 'SELECT RELEASE_LOCK(%s)', $name ) );
		}
	}

	public static function is_locked_here( int $order_id ): bool {
		return isset( self::$locked[ $order_id ] );
	}

	/** What this process read before it had the lock may be out of date. */
	private static function forget_cached( int $order_id ): void {
		clean_post_cache( $order_id );
		if ( function_exists( 'wp_cache_supports' ) && wp_cache_supports( 'flush_runtime' ) ) {
			wp_cache_flush_runtime();
		}
	}

	/** @return array<string, array> */
	public static function records_of( WC_Order $order ): array {
		$records = $order->get_meta( self::META );
		return is_array( $records ) ? $records : array();
	}

	/** How many orders at paygate were made for it. */
	public function count(): int {
		return count( self::records_of( $this->order ) );
	}

	/** The id of the newest order at paygate, or null. */
	public function newest_id(): ?string {
		$id = array_key_last( self::records_of( $this->order ) );
		return null === $id ? null : (string) $id;
	}

	/** The last known status of the newest order at paygate, or null. */
	public function newest_status(): ?string {
		$records = self::records_of( $this->order );
		return $records ? $records[ array_key_last( $records ) ]['status'] : null;
	}

	/** The total as decimal text for paygate. */
	public function total(): string {
		return Paygate_Api::plain_amount( wc_format_decimal( $this->order->get_total(), 4 ) );
	}

	/** Whether the price at paygate is what the order costs now. */
	public function fits( array $state ): bool {
		return '' !== $state['amount'] && $this->total() === $state['amount'] && $this->order->get_currency() === $state['currency'];
	}

	/** The key of the order proves that the id is not that of another shop on the same store. */
	public function belongs( array $state ): bool {
		$key = $state['metadata']['wc_order_key'] ?? null;
		return is_string( $key ) && hash_equals( $this->order->get_order_key(), $key )
			&& (string) $this->order->get_id() === ( $state['metadata']['wc_order_id'] ?? null );
	}

	/**
	 * Applies a state, if it is newer than the known one. The version is saved last: after a crash in
	 * between, the same state is applied once more, which changes no status and no stock again.
	 *
	 * @param bool $is_paying The customer is about to pay again: that an order ended without money is
	 *                        then no failure, and nobody gets a mail of it.
	 * @return bool whether the shop made this order at paygate for this order
	 * @throws Exception if WooCommerce could not save it
	 */
	public function receive( array $state, bool $is_paying = false ): bool {
		$record = self::records_of( $this->order )[ $state['id'] ] ?? null;
		if ( null === $record || ! $this->belongs( $state ) ) {
			return false;
		}
		if ( $state['version'] > $record['version'] ) {
			$has_money = $state['received_sat'] > 0 || $record['received'] > 0 || $record['paid'];
			if ( $has_money || ! $is_paying ) {
				$this->apply( $state, $record );
			}
			$this->remember( $state );
		}
		return true;
	}

	/** Saves what is known of an order at paygate, without applying it. */
	public function remember( array $state ): void {
		$records                  = self::records_of( $this->order );
		$before                   = $records[ $state['id'] ] ?? array();
		$is_paid                  = 'paid' === $state['status'];
		$records[ $state['id'] ] = array(
			'version'  => $state['version'],
			'status'   => $state['status'],
			'received' => $state['received_sat'],
			'paid'     => $is_paid,
			'fell'     => ( $before['fell'] ?? false ) || ( ! $is_paid && ( $before['paid'] ?? false ) ),
		);
		$this->order->update_meta_data( self::META, $records );
		$this->order->save_meta_data();
	}

	/** docs/shops/woocommerce-orders.md has this as a table. */
	private function apply( array $state, array $record ): void {
		$has_more = $state['received_sat'] > $record['received'];
		if ( $record['paid'] && 'paid' !== $state['status'] ) {
			$this->stop( $state );
		} elseif ( 'paid' === $state['status'] ) {
			$this->apply_paid( $state, $record, $has_more );
		} elseif ( 'processing' === $state['status'] ) {
			$advice = $this->fits( $state ) ? __( 'Enough has come, but it is not final: do not ship yet.', 'paygate-for-woocommerce' ) : self::other_total();
			$this->hold( $state, $advice, $has_more );
		} elseif ( 'open' === $state['status'] ) {
			$this->apply_open( $state, $record, $has_more );
		} elseif ( $state['received_sat'] > 0 ) {
			$this->hold( $state, __( 'The order has ended at paygate with money that is not enough or came too late. Accept it there, or send it back from your wallet.', 'paygate-for-woocommerce' ), $has_more );
		} elseif ( $state['id'] === $this->newest_id() ) {
			$this->apply_unpaid( $state );
		}
	}

	private function apply_paid( array $state, array $record, bool $has_more ): void {
		$order  = $this->order;
		$others = array_diff_key( self::records_of( $order ), array( $state['id'] => true ) );
		$is_our = 'paygate' === $order->get_payment_method();
		if ( '' === $order->get_transaction_id() && $state['txids'] ) {
			$order->set_transaction_id( $state['txids'][0] );
			$order->save();
		}
		if ( $record['paid'] ) {
			$this->note( $state, '' );
		} elseif ( ! $this->fits( $state ) ) {
			$this->hold( $state, self::other_total(), $has_more );
		} elseif ( in_array( true, array_column( $others, 'paid' ), true ) || ( $order->is_paid() && ! $is_our ) ) {
			$this->hold( $state, __( 'This order is paid twice: send one payment back from your wallet.', 'paygate-for-woocommerce' ), $has_more );
		} elseif ( $record['fell'] ) {
			$this->hold( $state, __( 'Paid again after the blockchain had taken it back. Look at what has left already, then set the order to processing.', 'paygate-for-woocommerce' ), $has_more );
		} elseif ( $order->is_paid() ) {
			$this->note( $state, __( 'The payment is final.', 'paygate-for-woocommerce' ) );
		} elseif ( $state['is_late'] || ! $is_our || ! $order->has_status( array( 'pending', 'on-hold', 'failed' ) ) ) {
			$this->hold( $state, __( 'Paid in full, but late, or after the order had ended. Look at your stock, then set the order to processing.', 'paygate-for-woocommerce' ), $has_more );
		} else {
			$this->note( $state, __( 'Paid, and final. A refund is sent from your own wallet; paygate prepares it on the page of the order.', 'paygate-for-woocommerce' ) );
			if ( ! $order->payment_complete( $state['txids'][0] ?? '' ) ) {
				throw new Exception( 'WooCommerce could not complete the payment' );
			}
		}
	}

	private function apply_open( array $state, array $record, bool $has_more ): void {
		if ( $has_more && $this->order->has_status( 'cancelled' ) ) {
			$this->hold( $state, __( 'Money came after this order was cancelled. Send it back from your wallet, or accept it in paygate.', 'paygate-for-woocommerce' ), true );
		} elseif ( $state['received_sat'] > 0 ) {
			$this->note( $state, __( 'This is not enough yet.', 'paygate-for-woocommerce' ) );
		} elseif ( $record['received'] > 0 ) {
			$this->note( $state, __( 'The payment vanished before it was final: do not ship.', 'paygate-for-woocommerce' ) );
		}
	}

	/** Expired or canceled, without money. A failed order can be paid again by its customer. */
	private function apply_unpaid( array $state ): void {
		if ( $this->order->has_status( 'pending' ) ) {
			$this->change( 'expired' === $state['status'] ? 'failed' : 'cancelled', $this->text( $state, '' ) );
		} elseif ( ! $this->order->has_status( array( 'cancelled', 'failed' ) ) ) {
			$this->note( $state, __( 'No money is there that counts, and nothing can be paid any more. Cancel this order, or ask the customer.', 'paygate-for-woocommerce' ) );
		}
	}

	private static function other_total(): string {
		return __( 'The payment is for another total than this order has now. Do not ship; compare both.', 'paygate-for-woocommerce' );
	}

	/** Lets a person look: on hold, with a note. A cancelled order comes back for new money only. */
	private function hold( array $state, string $advice, bool $has_more ): void {
		if ( $this->order->has_status( $has_more ? array( 'pending', 'failed', 'cancelled' ) : array( 'pending', 'failed' ) ) ) {
			$this->change( 'on-hold', $this->text( $state, $advice ) );
		} else {
			$this->note( $state, $advice );
		}
	}

	/** Stops the shipment of an order whose payment fell, whatever status the shop gave it. */
	private function stop( array $state ): void {
		$advice = __( 'STOP: the blockchain took this payment back. Do not ship; if the goods have left, ask the customer to pay again.', 'paygate-for-woocommerce' );
		if ( $this->order->has_status( array( 'on-hold', 'cancelled', 'refunded', 'trash' ) ) ) {
			$this->note( $state, $advice );
		} else {
			$this->change( 'on-hold', $this->text( $state, $advice ) );
		}
	}

	/** @throws Exception if WooCommerce could not save it, so that paygate sends the event again */
	private function change( string $status, string $note ): void {
		if ( ! $this->order->update_status( $status, $note ) ) {
			throw new Exception( 'WooCommerce could not change the status' );
		}
	}

	private function note( array $state, string $advice ): void {
		$this->order->add_order_note( $this->text( $state, $advice ) );
	}

	/** All that is inserted was read as a number, hexadecimal, a currency or one of five words. */
	private function text( array $state, string $advice ): string {
		/* translators: 1: status 2: satoshis 3: satoshis 4: amount 5: currency 6: id */
		$text = sprintf( __( 'paygate: %1$s. %2$s of %3$s sat received, for %4$s %5$s (%6$s).', 'paygate-for-woocommerce' ), $state['status'], $state['received_sat'], $state['amount_sat'], $state['amount'], $state['currency'], $state['id'] );
		if ( $state['excess_sat'] > 0 ) {
			/* translators: %s: satoshis */
			$text .= ' ' . sprintf( __( '%s sat are too much: you can send them back from your wallet.', 'paygate-for-woocommerce' ), $state['excess_sat'] );
		}
		if ( $state['txids'] ) {
			/* translators: %s: ids of transactions */
			$text .= ' ' . sprintf( __( 'Transaction: %s.', 'paygate-for-woocommerce' ), implode( ', ', array_slice( $state['txids'], 0, 3 ) ) );
		}
		return '' === $advice ? $text : "$text $advice";
	}
}
