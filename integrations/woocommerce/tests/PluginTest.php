<?php
/**
 * The plugin against the stubs, with a scripted paygate: `phpunit integrations/woocommerce/tests`.
 */

use PHPUnit\Framework\TestCase;

putenv( 'STUB_FOLDER=' . sys_get_temp_dir() . '/paygate-woocommerce-' . getmypid() );
require_once __DIR__ . '/stubs.php';
require_once dirname( __DIR__ ) . '/paygate-for-woocommerce.php';
do_action( 'before_woocommerce_init' );
do_action( 'plugins_loaded' );
do_action( 'rest_api_init' );

final class PluginTest extends TestCase {

	const KEY    = 'the-key-of-the-store';
	const SECRET = 'whsec_BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=';
	const TXID   = '88bf817815e9faf1f7c6c63d469c0d61d9ab75f1e511e867a17b1bc00331a46d';

	/** @var array The requests that paygate got. */
	private $asked = array();

	/** @var array What paygate answers to the next requests. */
	private $answers = array();

	protected function setUp(): void {
		$folder = getenv( 'STUB_FOLDER' );
		is_dir( $folder ) || mkdir( $folder );
		foreach ( array( 'stub_disk_is_full', 'stub_locale', 'stub_capabilities' ) as $name ) {
			unset( $GLOBALS[ $name ] );
		}
		$_POST                    = array();
		$_GET                     = array();
		$GLOBALS['wpdb']->is_busy = false;
		$GLOBALS['stub_http']     = function ( $url, $options ) {
			$this->asked[] = array( $options['method'] . ' ' . $url, json_decode( $options['body'], true ), $options );
			$answer        = array_shift( $this->answers );
			if ( is_callable( $answer ) ) {
				$answer = $answer( json_decode( $options['body'], true ) );
			}
			if ( null === $answer ) {
				return new WP_Error( 'http_request_failed', 'connection refused' );
			}
			return is_array( $answer ) && isset( $answer['status'], $answer['body'] ) ? $answer : array(
				'status' => 200,
				'body'   => json_encode( $answer ),
			);
		};
		$settings = array(
			'enabled' => 'yes',
			'title'   => 'Bitcoin',
			'url'     => 'https://pay.example',
			'api_key' => self::KEY,
			'secret'  => self::SECRET,
		);
		$this->put( 'options.json', array( 'woocommerce_paygate_settings' => $settings ) );
		$this->put( 'stock.json', 10 );
		$this->put( 'completed.json', 0 );
		$this->shop_order( array() );
		$this->gateway()->init_settings();
	}

	protected function tearDown(): void {
		$this->assertFalse( $GLOBALS['wpdb']->is_locked(), 'a lock was left' );
		array_map( 'unlink', glob( getenv( 'STUB_FOLDER' ) . '/*' ) );
		rmdir( getenv( 'STUB_FOLDER' ) );
	}

	private function gateway(): WC_Gateway_Paygate {
		return paygate_for_woocommerce();
	}

	private function put( string $name, $content ): void {
		file_put_contents( stub_path( $name ), json_encode( $content ) );
	}

	private function shop_order( array $changes ): void {
		$order = array(
			'id'       => 7,
			'key'      => 'wc_order_abc',
			'status'   => 'pending',
			'total'    => '12.50',
			'currency' => 'EUR',
			'method'   => 'paygate',
		);
		$this->put( 'order-7.json', $changes + $order );
	}

	/** An order of the shop, for which paygate made ord_A with version 1. */
	private function made( array $changes = array(), array $record = array() ): void {
		$record += array(
			'version'  => 1,
			'status'   => 'open',
			'received' => 0,
			'paid'     => false,
			'fell'     => false,
		);
		$this->shop_order( $changes + array( 'meta' => array( '_paygate_orders' => array( 'ord_A' => $record ) ) ) );
	}

	/** An order as paygate shows it. */
	private function state( array $changes = array() ): array {
		return $changes + array(
			'id'           => 'ord_A',
			'version'      => 1,
			'status'       => 'open',
			'late'         => false,
			'amount'       => '12.50',
			'currency'     => 'EUR',
			'amount_sat'   => 25000,
			'received_sat' => 0,
			'excess_sat'   => 0,
			'page_url'     => 'https://pay.example/o/' . ( $changes['id'] ?? 'ord_A' ),
			'reference'    => '7',
			'metadata'     => array(
				'wc_order_id'  => '7',
				'wc_order_key' => 'wc_order_abc',
			),
			'expires_at'   => time() + 3600,
			'payments'     => array(),
		);
	}

	private function paid( array $changes = array() ): array {
		$payment = array(
			'txid' => self::TXID,
			'gone' => false,
		);
		return $this->state(
			$changes + array(
				'version'      => 3,
				'status'       => 'paid',
				'received_sat' => 25000,
				'payments'     => array( $payment ),
			)
		);
	}

	private function stored(): array {
		return stub_read( 'order-7.json' );
	}

	private function notes(): string {
		return implode( "\n", $this->stored()['notes'] ?? array() );
	}

	private function send( $event, array $options = array() ): WP_REST_Response {
		$options += array(
			'time'    => time(),
			'secrets' => array( self::SECRET ),
		);
		$body     = is_string( $event ) ? $event : json_encode( $event );
		$sign     = function ( $secret ) use ( $options, $body ) {
			$key = base64_decode( substr( $secret, 6 ) );
			return 'v1,' . base64_encode( hash_hmac( 'sha256', "evt_1.{$options['time']}.$body", $key, true ) );
		};
		$headers  = array(
			'Webhook-Id'        => 'evt_1',
			'Webhook-Timestamp' => (string) $options['time'],
			'Webhook-Signature' => implode( ' ', array_map( $sign, $options['secrets'] ) ),
		);
		$request  = new WP_REST_Request( ( $options['headers'] ?? array() ) + $headers, ( $options['body'] ?? $body ) );
		return $GLOBALS['stub_routes']['/paygate/v1/webhook']['callback']( $request );
	}

	private function event( array $state ): array {
		return array(
			'type' => 'order.' . $state['status'],
			'data' => array( 'order' => $state ),
		);
	}

	/** Sends states of paygate one after the other; each must be saved. */
	private function states( array ...$states ): void {
		foreach ( $states as $state ) {
			$answer = $this->send( $this->event( $state ) );
			$this->assertSame( array( 200, 'saved' ), array( $answer->status, $answer->data['message'] ) );
		}
	}

	/** What process_payment answers while paygate gives these answers; a text means that it failed. */
	private function checkout( ...$answers ) {
		$this->answers = $answers;
		try {
			return $this->gateway()->process_payment( 7 );
		} catch ( Exception $error ) {
			return $error->getMessage();
		}
	}

	/** A paygate that makes the order it is asked for. */
	private function makes( string $id = 'ord_A' ): callable {
		return function ( $body ) use ( $id ) {
			return $this->state( array( 'id' => $id ) + array_intersect_key( $body, array_flip( array( 'amount', 'currency', 'metadata' ) ) ) );
		};
	}

	/* Signatures. */

	public function test_a_genuine_event_is_saved_and_a_test_event_is_answered(): void {
		$this->made();
		$this->assertSame( 200, $this->send( array( 'type' => 'test', 'data' => array() ) )->status );
		$this->assertGreaterThan( 0, get_option( 'paygate_last_webhook' ) );
		$this->states( $this->paid() );
		$this->assertSame( 'processing', $this->stored()['status'] );
	}

	public function forged(): array {
		$other = 'whsec_' . base64_encode( str_repeat( 'x', 32 ) );
		return array(
			'of another secret'   => array( array( 'secrets' => array( $other ) ) ),
			'too old'             => array( array( 'time' => time() - 302 ) ),
			'too new'             => array( array( 'time' => time() + 302 ) ),
			'a time in words'     => array( array( 'headers' => array( 'Webhook-Timestamp' => 'now' ) ) ),
			'no time'             => array( array( 'headers' => array( 'Webhook-Timestamp' => '' ) ) ),
			'another id'          => array( array( 'headers' => array( 'Webhook-Id' => 'evt_2' ) ) ),
			'no signature'        => array( array( 'headers' => array( 'Webhook-Signature' => '' ) ) ),
			'a bare signature'    => array( array( 'headers' => array( 'Webhook-Signature' => 'v1,' ) ) ),
			'another body'        => array( array( 'body' => '{"type":"order.paid"}' ) ),
			'no secrets that fit' => array( array( 'secrets' => array( $other, $other ) ) ),
		);
	}

	/** @dataProvider forged */
	public function test_a_forged_event_is_refused( array $options ): void {
		$this->made();
		$this->assertSame( 401, $this->send( $this->event( $this->paid() ), $options )->status );
		$this->assertSame( 'pending', $this->stored()['status'] );
		$this->assertFalse( get_option( 'paygate_last_webhook' ) );
	}

	public function test_nothing_is_genuine_without_a_whole_secret(): void {
		$this->made();
		foreach ( array( '', 'whsec_', 'whsec_AAAA', 'BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=' ) as $secret ) {
			$this->gateway()->settings['secret'] = $secret;
			$this->assertSame( 401, $this->send( $this->event( $this->paid() ), array( 'secrets' => array( 'whsec_' ) ) )->status );
		}
	}

	public function test_one_of_the_two_signatures_of_a_rotation_is_enough(): void {
		$this->made();
		$other = 'whsec_' . base64_encode( str_repeat( 'x', 32 ) );
		$this->assertSame( 200, $this->send( $this->event( $this->paid() ), array( 'secrets' => array( $other, self::SECRET ) ) )->status );
		$this->assertSame( 'processing', $this->stored()['status'] );
	}

	/* What is no order of this shop. */

	public function test_signed_nonsense_is_refused(): void {
		$this->made();
		foreach ( array( '', '[]', 'null', '"data"', '{"data":1}', '{"data":[]}' ) as $body ) {
			$this->assertSame( 200, $this->send( $body )->status, $body );
		}
		$wrong = array(
			array( 'id' => 'ord_<b>' ),
			array( 'id' => 7 ),
			array( 'status' => 'shipped' ),
			array( 'version' => '9' ),
			array( 'version' => 0 ),
			array( 'received_sat' => -1 ),
			array( 'received_sat' => 1.5 ),
			array( 'late' => 'no' ),
			array( 'page_url' => 'javascript:alert(1)' ),
			array( 'page_url' => 'https://pay.example/o/ord_B' ),
		);
		foreach ( $wrong as $changes ) {
			$this->assertSame( 400, $this->send( $this->event( $this->paid( $changes ) ) )->status, json_encode( $changes ) );
		}
		$this->assertSame( 413, $this->send( str_repeat( ' ', 1000001 ) )->status );
		$this->assertSame( 'pending', $this->stored()['status'] );
	}

	public function test_an_order_of_another_shop_on_the_same_store_changes_nothing(): void {
		$this->made();
		$others = array(
			array( 'id' => 'ord_B' ),
			array( 'metadata' => array() ),
			array( 'metadata' => array( 'wc_order_id' => '7' ) ),
			array( 'metadata' => array( 'wc_order_id' => '7', 'wc_order_key' => 'wc_order_xyz' ) ),
			array( 'metadata' => array( 'wc_order_id' => '8', 'wc_order_key' => 'wc_order_abc' ) ),
			array( 'metadata' => array( 'wc_order_id' => '7 OR 1', 'wc_order_key' => 'wc_order_abc' ) ),
			array( 'metadata' => array( 'wc_order_id' => '../7', 'wc_order_key' => 'wc_order_abc' ) ),
			array( 'metadata' => 'wc_order_abc' ),
		);
		foreach ( $others as $changes ) {
			$answer = $this->send( $this->event( $this->paid( $changes ) ) );
			$this->assertSame( array( 200, 'not an order of this shop' ), array( $answer->status, $answer->data['message'] ) );
		}
		$this->assertSame( 'pending', $this->stored()['status'] );
		$this->assertSame( '', $this->notes() );
	}

	/* Versions, locks, failures. */

	public function test_a_replay_and_an_older_version_change_nothing(): void {
		$this->made();
		$processing = $this->paid( array( 'version' => 2, 'status' => 'processing' ) );
		$this->states( $this->paid() );
		$before = $this->stored();
		$this->states( $this->paid(), $processing, $this->paid(), $this->state( array( 'status' => 'canceled', 'version' => 3 ) ) );
		$this->assertSame( $before, $this->stored() );
		$this->assertSame( array( 1, 9 ), array( stub_read( 'completed.json' ), stub_read( 'stock.json' ) ) );
	}

	public function test_a_busy_lock_is_answered_so_that_paygate_sends_again(): void {
		$this->made();
		$GLOBALS['wpdb']->is_busy = true;
		$this->assertSame( 503, $this->send( $this->event( $this->paid() ) )->status );
		$this->assertSame( 'pending', $this->stored()['status'] );
		$GLOBALS['wpdb']->is_busy = false;
		$this->states( $this->paid() );
		$this->assertSame( 'processing', $this->stored()['status'] );
	}

	public function test_what_could_not_be_saved_is_sent_again(): void {
		$this->made();
		$GLOBALS['stub_disk_is_full'] = true;
		$this->assertSame( 503, $this->send( $this->event( $this->paid() ) )->status );
		unset( $GLOBALS['stub_disk_is_full'] );
		$this->assertSame( 1, $this->stored()['meta']['_paygate_orders']['ord_A']['version'] );
		$this->states( $this->paid() );
		$this->assertSame( array( 'processing', 1 ), array( $this->stored()['status'], stub_read( 'completed.json' ) ) );
	}

	public function test_an_event_that_was_applied_but_not_recorded_is_borne_twice(): void {
		$this->made( array( 'status' => 'processing', 'stock_reduced' => true ) );
		$this->states( $this->paid() );
		$this->assertSame( array( 'processing', 0, 10 ), array( $this->stored()['status'], stub_read( 'completed.json' ), stub_read( 'stock.json' ) ) );
	}

	/* The table of docs/shops/woocommerce-orders.md. */

	public function table(): array {
		$part       = array( 'received_sat' => 10000, 'version' => 2 );
		$processing = array( 'status' => 'processing', 'version' => 2 );
		$held       = array( 'status' => 'on-hold', 'stock_reduced' => true );
		$was_paid   = array( 'version' => 2, 'status' => 'paid', 'received' => 25000, 'paid' => true );
		$fell       = array( 'version' => 2, 'status' => 'open', 'fell' => true );
		$none       = array( 'received_sat' => 0, 'payments' => array() );
		// Order of the shop before, its record, state of paygate, status after, in the notes.
		return array(
			'part paid'                        => array( array(), array(), $part + array( 'status' => 'open' ), 'pending', 'not enough yet' ),
			'enough seen'                      => array( array(), array(), $processing, 'on-hold', 'not final' ),
			'enough seen, order failed'        => array( array( 'status' => 'failed' ), array(), $processing, 'on-hold', 'not final' ),
			'enough seen, order cancelled'     => array( array( 'status' => 'cancelled' ), array(), $processing, 'on-hold', 'not final' ),
			'enough seen, other total'         => array( array( 'total' => '15.00' ), array(), $processing, 'on-hold', 'another total' ),
			'paid at once'                     => array( array(), array(), array(), 'processing', 'Paid, and final' ),
			'paid after on hold'               => array( $held, array( 'received' => 25000 ), array(), 'processing', 'Paid, and final' ),
			'paid after failed'                => array( array( 'status' => 'failed' ), array(), array(), 'processing', 'Paid, and final' ),
			'paid with zeros'                  => array( array( 'total' => '12.5000' ), array(), array( 'amount' => '12.5' ), 'processing', 'Paid, and final' ),
			'paid too much'                    => array( array(), array(), array( 'received_sat' => 30000, 'excess_sat' => 5000 ), 'processing', '5000 sat are too much' ),
			'paid late'                        => array( array(), array(), array( 'late' => true ), 'on-hold', 'Look at your stock' ),
			'paid, cancelled meanwhile'        => array( array( 'status' => 'cancelled' ), array(), array(), 'on-hold', 'Look at your stock' ),
			'paid, cancelled by a person'      => array( array( 'status' => 'cancelled' ), array( 'received' => 25000 ), array(), 'cancelled', 'Look at your stock' ),
			'paid, refunded'                   => array( array( 'status' => 'refunded' ), array(), array(), 'refunded', 'Look at your stock' ),
			'paid, other total'                => array( array( 'total' => '12.51' ), array(), array(), 'on-hold', 'another total' ),
			'paid, other currency'             => array( array( 'currency' => 'USD' ), array(), array(), 'on-hold', 'another total' ),
			'paid, priced in satoshis'         => array( array(), array(), array( 'amount' => null, 'currency' => null ), 'on-hold', 'another total' ),
			'paid, other method'               => array( array( 'method' => 'bacs' ), array(), array(), 'on-hold', 'Look at your stock' ),
			'paid, and by card'                => array( array( 'method' => 'card', 'status' => 'processing' ), array(), array(), 'processing', 'paid twice' ),
			'paid, moved on by hand before'    => array( array( 'status' => 'completed' ), array(), array(), 'completed', 'The payment is final' ),
			'part paid, cancelled'             => array( array( 'status' => 'cancelled' ), array(), $part + array( 'status' => 'open' ), 'on-hold', 'after this order was cancelled' ),
			'taken back, own status'           => array( array( 'status' => 'packed', 'stock_reduced' => true ), $was_paid, array( 'version' => 3 ) + $processing, 'on-hold', 'STOP' ),
			'taken back, refunded'             => array( array( 'status' => 'refunded' ), $was_paid, array( 'version' => 3 ) + $processing, 'refunded', 'STOP' ),
			'more after paid'                  => array( array( 'status' => 'processing' ), $was_paid, array( 'received_sat' => 26000, 'excess_sat' => 1000 ), 'processing', '1000 sat are too much' ),
			'taken back'                       => array( array( 'status' => 'processing', 'stock_reduced' => true ), $was_paid, array( 'version' => 3 ) + $processing, 'on-hold', 'STOP' ),
			'taken back after it was shipped'  => array( array( 'status' => 'completed', 'stock_reduced' => true ), $was_paid, $none + array( 'status' => 'expired' ), 'on-hold', 'STOP' ),
			'paid again'                       => array( $held, $fell, array(), 'on-hold', 'left already' ),
			'vanished'                         => array( $held, array( 'received' => 25000 ), $none + array( 'status' => 'open' ), 'on-hold', 'vanished' ),
			'vanished, then over'              => array( $held, array(), $none + array( 'status' => 'expired' ), 'on-hold', 'Cancel this order' ),
			'expired'                          => array( array(), array(), $none + array( 'status' => 'expired' ), 'failed', 'expired' ),
			'expired with too little'          => array( array(), array(), $part + array( 'status' => 'expired' ), 'on-hold', 'Accept it there' ),
			'expired, paid by card'            => array( array( 'status' => 'processing', 'method' => 'card' ), array(), $none + array( 'status' => 'expired' ), 'processing', '' ),
			'canceled'                         => array( array(), array(), $none + array( 'status' => 'canceled' ), 'cancelled', 'canceled' ),
			'canceled with money'              => array( array(), array(), $part + array( 'status' => 'canceled' ), 'on-hold', 'send it back' ),
			'canceled, money known, cancelled' => array( array( 'status' => 'cancelled' ), array( 'received' => 10000 ), $part + array( 'status' => 'canceled' ), 'cancelled', 'send it back' ),
			'canceled, then money'             => array( array( 'status' => 'cancelled' ), array( 'status' => 'canceled' ), $part + array( 'status' => 'canceled', 'version' => 3 ), 'on-hold', 'send it back' ),
		);
	}

	/** @dataProvider table */
	public function test_what_a_state_does( array $before, array $record, array $state, string $after, string $note ): void {
		$this->made( $before, $record );
		$this->states( $this->paid( $state ) );
		$this->assertSame( $after, $this->stored()['status'] );
		if ( '' !== $note ) {
			$this->assertStringContainsString( $note, $this->notes() );
		}
		$is_done = 'processing' === $after && ! in_array( $before['status'] ?? '', array( 'processing' ), true );
		$this->assertSame( $is_done ? 1 : 0, stub_read( 'completed.json' ) );
		$this->states( $this->paid( $state ) );
		$this->assertSame( $is_done ? 1 : 0, stub_read( 'completed.json' ) );
	}

	public function test_a_paid_order_has_the_transaction_and_one_item_less(): void {
		$this->made();
		$this->states( $this->paid( array( 'version' => 2, 'status' => 'processing' ) ), $this->paid() );
		$this->assertSame( array( 'processing', self::TXID, 9 ), array( $this->stored()['status'], $this->stored()['transaction'], stub_read( 'stock.json' ) ) );
		$this->assertStringContainsString( '25000 of 25000 sat received, for 12.5 EUR (ord_A)', $this->notes() );
	}

	public function test_the_end_of_a_replaced_order_leaves_the_order_of_the_shop(): void {
		$record = array( 'version' => 1, 'status' => 'open', 'received' => 0, 'paid' => false, 'fell' => false );
		$this->shop_order( array( 'meta' => array( '_paygate_orders' => array( 'ord_A' => $record, 'ord_B' => $record ) ) ) );
		$this->states( $this->state( array( 'status' => 'expired', 'version' => 2 ) ) );
		$this->assertSame( array( 'pending', '' ), array( $this->stored()['status'], $this->notes() ) );
		$this->states( $this->paid() );
		$this->assertSame( 'processing', $this->stored()['status'] );
		$this->states( $this->paid( array( 'id' => 'ord_B', 'page_url' => 'https://pay.example/o/ord_B' ) ) );
		$this->assertStringContainsString( 'paid twice', $this->notes() );
		$this->assertSame( array( 'processing', 1 ), array( $this->stored()['status'], stub_read( 'completed.json' ) ) );
	}

	/* Checkout. */

	public function test_the_customer_is_sent_to_the_page_of_a_new_order(): void {
		$result = $this->checkout( $this->makes() );
		$this->assertSame( array( 'result' => 'success', 'redirect' => 'https://pay.example/o/ord_A' ), $result );
		list( $request, $body, $options ) = $this->asked[0];
		$this->assertSame( 'POST https://pay.example/api/v3/orders', $request );
		$expected = array(
			'amount'     => '12.5',
			'currency'   => 'EUR',
			'reference'  => '7',
			'metadata'   => array( 'wc_order_id' => '7', 'wc_order_key' => 'wc_order_abc' ),
			'return_url' => 'https://shop.example/checkout/order-received/7/?key=wc_order_abc',
			'language'   => 'de-DE',
		);
		$this->assertSame( $expected, $body );
		$this->assertSame( array( 'Bearer ' . self::KEY, 0 ), array( $options['headers']['Authorization'], $options['redirection'] ) );
		$this->assertSame( 'pending', $this->stored()['status'] );
	}

	public function test_a_lost_answer_is_asked_for_by_the_same_key(): void {
		$this->assertIsString( $this->checkout( null ) );
		$this->checkout( $this->makes() );
		$keys = array_column( array_column( array_column( $this->asked, 2 ), 'headers' ), 'Idempotency-Key' );
		$this->assertCount( 2, $keys );
		$this->assertSame( $keys[0], $keys[1] );
		$this->assertMatchesRegularExpression( '/^woo-[0-9a-f]{32}$/', $keys[0] );
	}

	public function test_a_second_click_uses_the_open_order(): void {
		$this->made();
		$this->assertSame( 'https://pay.example/o/ord_A', $this->checkout( $this->state() )['redirect'] );
		$this->assertSame( array( 'GET https://pay.example/api/v3/orders/ord_A' ), array_column( $this->asked, 0 ) );
	}

	public function test_a_changed_total_replaces_the_order(): void {
		$this->made( array( 'total' => '15' ) );
		$result = $this->checkout( $this->state(), $this->state( array( 'status' => 'canceled', 'version' => 2 ) ), $this->makes( 'ord_B' ) );
		$this->assertSame( 'https://pay.example/o/ord_B', $result['redirect'] );
		$this->assertSame( 'POST https://pay.example/api/v3/orders/ord_A/cancel', $this->asked[1][0] );
		$this->assertSame( '15', $this->asked[2][1]['amount'] );
		// The event of the cancellation comes later.
		$this->states( $this->state( array( 'status' => 'canceled', 'version' => 2 ) ) );
		$this->assertSame( 'pending', $this->stored()['status'] );
	}

	public function test_an_old_order_that_cannot_be_canceled_is_not_replaced(): void {
		$this->made( array( 'total' => '15' ) );
		$refusal = array( 'status' => 409, 'body' => '{"status":409,"message":"the order is processing","error":{"code":409}}' );
		$this->assertIsString( $this->checkout( $this->state(), $refusal ) );
		$this->assertCount( 2, $this->asked );
	}

	public function ended(): array {
		$over = array( 'status' => 'expired', 'version' => 2 );
		return array(
			'expired'           => array( $over ),
			'its time is over'  => array( array( 'expires_at' => time() - 1 ) ),
			'canceled'          => array( array( 'status' => 'canceled', 'version' => 2 ) ),
			'canceled, money'   => array( array( 'status' => 'canceled', 'version' => 2, 'received_sat' => 5 ) ),
			'unknown to paygate' => array( null ),
		);
	}

	/** @dataProvider ended */
	public function test_an_order_that_ended_is_replaced( ?array $state ): void {
		$this->made( array( 'status' => 'failed' ) );
		$unknown = array( 'status' => 404, 'body' => '{"status":404,"message":"There is no such order","error":{"code":404}}' );
		$result  = $this->checkout( null === $state ? $unknown : $this->state( $state ), $this->makes( 'ord_B' ) );
		$this->assertSame( 'https://pay.example/o/ord_B', $result['redirect'] );
		$this->assertSame( array( 'ord_A', 'ord_B' ), array_keys( $this->stored()['meta']['_paygate_orders'] ) );
	}

	public function test_a_failed_order_is_pending_again(): void {
		$this->made( array( 'status' => 'failed' ) );
		$this->checkout( $this->state( array( 'status' => 'expired', 'version' => 2 ) ), $this->makes( 'ord_B' ) );
		$this->assertSame( 'pending', $this->stored()['status'] );
	}

	public function test_a_customer_who_pays_again_gets_no_mail_of_a_failure(): void {
		$this->made();
		$this->checkout( $this->state( array( 'status' => 'expired', 'version' => 2 ) ), $this->makes( 'ord_B' ) );
		$this->states( $this->state( array( 'status' => 'expired', 'version' => 2 ) ) );
		$this->assertSame( array( 'pending', 'paygate: ord_B, 12.5 EUR' ), array( $this->stored()['status'], $this->notes() ) );
	}

	public function test_a_customer_who_has_paid_is_not_asked_again(): void {
		$this->made();
		$this->assertStringContainsString( 'order-received/7', $this->checkout( $this->paid() )['redirect'] );
		$this->assertSame( 'processing', $this->stored()['status'] );
	}

	public function unusable(): array {
		return array(
			'part paid, over'         => array( array(), array( 'status' => 'expired', 'received_sat' => 5, 'version' => 2 ) ),
			'part paid, other total'  => array( array( 'total' => '15' ), array( 'received_sat' => 5, 'version' => 2 ) ),
			'enough, for other total' => array( array( 'total' => '15' ), array( 'status' => 'processing', 'received_sat' => 25000, 'version' => 2 ) ),
		);
	}

	/** @dataProvider unusable */
	public function test_money_that_does_not_fit_needs_a_person( array $order, array $state ): void {
		$this->made( $order );
		$this->assertStringContainsString( 'contact us', $this->checkout( $this->state( $state ), $this->makes( 'ord_B' ) ) );
		$this->assertCount( 1, $this->asked );
	}

	public function hostile(): array {
		$html = '<script>alert(1)</script>';
		return array(
			'away'          => array( null ),
			'a web page'    => array( array( 'status' => 200, 'body' => $html ) ),
			'an error page' => array( array( 'status' => 500, 'body' => $html ) ),
			'a hostile error' => array( array( 'status' => 400, 'body' => json_encode( array( 'message' => "$html\n" . str_repeat( 'a', 999 ) ) ) ) ),
			'a redirect'    => array( array( 'status' => 302, 'body' => '' ) ),
			'other amount'  => array( array( 'amount' => '0.01' ) ),
			'other currency' => array( array( 'currency' => 'JPY' ) ),
			'other order'   => array( array( 'metadata' => array( 'wc_order_id' => '8', 'wc_order_key' => 'wc_order_abc' ) ) ),
			'a script as page' => array( array( 'page_url' => 'javascript://pay.example/o/ord_A' ) ),
			'a page with markup' => array( array( 'page_url' => 'https://pay.example/"><script>/o/ord_A' ) ),
		);
	}

	/** @dataProvider hostile */
	public function test_a_paygate_that_answers_otherwise_is_not_followed( $answer ): void {
		$is_raw = null === $answer || isset( $answer['status'], $answer['body'] );
		$this->assertStringContainsString( 'not available', $this->checkout( $is_raw ? $answer : $this->state( $answer ) ) );
		$log = file_get_contents( stub_path( 'log' ) );
		$this->assertStringNotContainsString( self::KEY, $log );
		$this->assertStringNotContainsString( '<', $log );
		$this->assertSame( 1, substr_count( $log, "\n" ) );
		$this->assertLessThan( 350, strlen( $log ) );
	}

	public function test_languages_that_paygate_cannot_read_are_left_out(): void {
		foreach ( array( 'pt_BR' => 'pt-BR', 'ja' => 'ja', 'de_CH_informal' => 'de-CH', 'en_US' => 'en-US', '../x' => null, '' => null ) as $locale => $tag ) {
			$GLOBALS['stub_locale'] = $locale;
			$this->asked            = array();
			$this->shop_order( array() );
			$this->checkout( $this->makes() );
			$this->assertSame( $tag, $this->asked[0][1]['language'] ?? null );
		}
	}

	/* Lost webhooks, and the end of an order of the shop. */

	public function test_an_unpaid_order_is_cancelled_only_if_paygate_says_so(): void {
		$cancel = function ( $answer ) {
			$this->made();
			$this->answers = array( $answer );
			return ( new WC_Gateway_Paygate() )->may_cancel_unpaid( true, wc_get_order( 7 ) );
		};
		$this->assertTrue( $cancel( $this->state() ) );
		$this->assertFalse( $cancel( $this->paid( array( 'status' => 'processing' ) ) ) );
		$this->assertSame( 'on-hold', $this->stored()['status'] );
		$this->assertFalse( $cancel( $this->state( array( 'received_sat' => 5, 'version' => 2 ) ) ) );
		$this->assertFalse( $cancel( $this->state( array( 'status' => 'expired', 'version' => 2 ) ) ) );
		$this->assertSame( 'failed', $this->stored()['status'] );
		$this->shop_order( array() );
		$this->assertTrue( apply_filters( 'woocommerce_cancel_unpaid_order', true, wc_get_order( 7 ) ) );
		$this->assertFalse( apply_filters( 'woocommerce_cancel_unpaid_order', false, wc_get_order( 7 ) ) );
	}

	public function test_without_paygate_no_order_is_cancelled_and_it_is_asked_once(): void {
		$this->made();
		$gateway = new WC_Gateway_Paygate();
		for ( $count = 0; $count < 3; $count++ ) {
			$this->assertFalse( $gateway->may_cancel_unpaid( true, wc_get_order( 7 ) ) );
		}
		$this->assertCount( 1, $this->asked );
	}

	public function test_a_cancelled_order_takes_no_money_at_paygate(): void {
		$this->made();
		$this->answers = array( $this->state( array( 'status' => 'canceled', 'version' => 2 ) ) );
		wc_get_order( 7 )->update_status( 'cancelled' );
		$this->assertSame( array( 'POST https://pay.example/api/v3/orders/ord_A/cancel' ), array_column( $this->asked, 0 ) );
		$this->assertSame( 'canceled', $this->stored()['meta']['_paygate_orders']['ord_A']['status'] );
	}

	public function test_an_order_that_paygate_canceled_is_not_canceled_there_again(): void {
		$this->made();
		$this->states( $this->state( array( 'status' => 'canceled', 'version' => 2 ) ) );
		$this->assertSame( array( 'cancelled', array() ), array( $this->stored()['status'], $this->asked ) );
	}

	public function test_a_cancellation_that_paygate_refuses_is_noted(): void {
		$this->made();
		$this->answers = array( array( 'status' => 409, 'body' => '{"message":"the order is processing","error":{"code":409}}' ) );
		wc_get_order( 7 )->update_status( 'cancelled' );
		$this->assertStringContainsString( 'could not cancel', $this->notes() );
	}

	public function test_the_thank_you_page_catches_up(): void {
		$this->made();
		$this->answers = array( $this->paid() );
		$this->expectOutputRegex( '~^<p><a href="https://pay.example/o/ord_A">~' );
		do_action( 'woocommerce_thankyou_paygate', 7 );
		$this->assertSame( 'processing', $this->stored()['status'] );
	}

	public function test_a_person_can_ask_paygate(): void {
		$this->made();
		$this->answers = array( $this->paid() );
		do_action( 'woocommerce_order_action_paygate_refresh', wc_get_order( 7 ) );
		$this->assertSame( 'processing', $this->stored()['status'] );
		$this->made();
		do_action( 'woocommerce_order_action_paygate_refresh', wc_get_order( 7 ) );
		$this->assertStringContainsString( 'did not answer', $this->notes() );
		$this->assertArrayHasKey( 'paygate_refresh', apply_filters( 'woocommerce_order_actions', array() ) );
	}

	/* Settings. */

	private function save( array $fields ): WC_Gateway_Paygate {
		$gateway = new WC_Gateway_Paygate();
		foreach ( $fields as $key => $value ) {
			$_POST[ "woocommerce_paygate_$key" ] = $value;
		}
		$gateway->process_admin_options();
		return $gateway;
	}

	public function test_settings_are_checked_and_secrets_stay_where_fields_are_empty(): void {
		$gateway = $this->save( array( 'url' => ' https://pay.example/gate/ ', 'api_key' => '', 'secret' => '' ) );
		$this->assertSame( array( 'https://pay.example/gate', self::KEY, self::SECRET ), array( $gateway->settings['url'], $gateway->settings['api_key'], $gateway->settings['secret'] ) );
		foreach ( array( 'pay.example', 'ftp://pay.example', 'https://me:pw@pay.example', 'https://pay.example/?a=1', 'javascript:x' ) as $url ) {
			$gateway = $this->save( array( 'url' => $url ) );
			$this->assertCount( 1, $gateway->errors, $url );
			$this->assertSame( 'https://pay.example/gate', $gateway->settings['url'] );
		}
		$gateway = $this->save( array( 'url' => 'https://pay.example', 'secret' => 'sesame' ) );
		$this->assertCount( 1, $gateway->errors );
		$this->assertSame( self::SECRET, $gateway->settings['secret'] );
		$this->assertSame( 'another', $this->save( array( 'secret' => '', 'api_key' => ' another ' ) )->settings['api_key'] );
	}

	public function test_no_page_shows_a_secret(): void {
		$html = '';
		foreach ( $this->gateway()->form_fields as $key => $field ) {
			$make  = "generate_{$field['type']}_html";
			$html .= method_exists( $this->gateway(), $make ) ? $this->gateway()->$make( $key, $field ) : '';
		}
		$this->assertStringContainsString( 'Stored', $html );
		$this->assertStringNotContainsString( self::KEY, $html );
		$this->assertStringNotContainsString( 'BwcH', $html );
		$this->assertStringContainsString( 'https://shop.example/index.php?rest_route=/paygate/v1/webhook', $html );
	}

	public function test_the_connection_is_tested_for_a_merchant_with_a_nonce_only(): void {
		$html = function () {
			return $this->gateway()->generate_paygate_test_html( 'test', $this->gateway()->form_fields['test'] );
		};
		$_GET = array( 'paygate_test' => '1', '_wpnonce' => 'nonce-paygate_test' );
		$html();
		$GLOBALS['stub_capabilities'] = array( 'manage_woocommerce' );
		$_GET['_wpnonce']             = 'nonce-other';
		$html();
		$this->assertSame( array(), $this->asked );
		$_GET['_wpnonce'] = 'nonce-paygate_test';
		$this->answers    = array( array( 'status' => 401, 'body' => '{"message":"<b>This function requires you to login","error":{"code":401}}' ) );
		$this->assertStringContainsString( '<li>Orders cannot be read: HTTP 401: This function requires you to login</li>', $html() );
	}

	public function test_the_connection_test_names_what_is_missing(): void {
		$refused = function ( int $status, int $code, string $message ) {
			return array( 'status' => $status, 'body' => json_encode( array( 'message' => $message, 'error' => array( 'code' => $code ) ) ) );
		};
		$priced        = $refused( 400, 400, 'amount: exactly one is expected' );
		$this->answers = array( array( 'data' => array() ), $priced, array( 'price' => 50000.5 ) );
		$lines         = $this->gateway()->test_connection();
		$this->assertSame( array( 'The key may read orders.', 'The key may make orders.', 'There is a price in EUR.' ), array_slice( $lines, 0, 3 ) );
		$this->assertStringContainsString( 'paygate events test', $lines[3] );
		update_option( 'paygate_last_webhook', 1763650000 );
		$this->answers = array( array( 'data' => array() ), $refused( 400, 1032, 'There are several stores' ), array( 'price' => null ) );
		$lines         = $this->gateway()->test_connection();
		$this->assertSame( 'Orders cannot be made: HTTP 400: There are several stores', $lines[1] );
		$this->assertStringContainsString( 'no price in EUR', $lines[2] );
		$this->assertSame( 'The last webhook came at 2025-11-20 14:46:40 UTC.', $lines[3] );
		$this->gateway()->settings['api_key'] = '';
		$this->assertCount( 1, $this->gateway()->test_connection() );
		$this->assertFalse( $this->gateway()->is_available() );
	}

	/* What WooCommerce is told of the plugin. */

	public function test_it_declares_what_it_supports_and_nothing_else(): void {
		$this->assertSame( array( 'custom_order_tables' => true, 'cart_checkout_blocks' => true ), Automattic\WooCommerce\Utilities\FeaturesUtil::$declared );
		$this->assertSame( array( $this->gateway() ), apply_filters( 'woocommerce_payment_gateways', array() ) );
		$this->assertSame( array( 'products' ), $this->gateway()->supports );
		$main = file_get_contents( dirname( __DIR__ ) . '/paygate-for-woocommerce.php' );
		$this->assertStringContainsString( ' * Update URI: false', $main );
		$this->assertStringContainsString( ' * License: GPL-2.0-or-later', $main );
	}

	public function test_a_deleted_plugin_leaves_no_secret(): void {
		update_option( 'paygate_last_webhook', 1 );
		define( 'WP_UNINSTALL_PLUGIN', 'paygate-for-woocommerce' );
		require dirname( __DIR__ ) . '/uninstall.php';
		$this->assertSame( array(), stub_read( 'options.json' ) );
	}

	public function test_the_checkout_block_has_its_script_and_its_texts(): void {
		$registry = new class() {
			public $methods = array();

			public function register( $method ) {
				$this->methods[ $method->get_name() ] = $method;
			}
		};
		do_action( 'woocommerce_blocks_payment_method_type_registration', $registry );
		$block = $registry->methods['paygate'];
		$this->assertTrue( $block->is_active() );
		$this->assertSame( array( 'paygate-block' ), $block->get_payment_method_script_handles() );
		$this->assertStringEndsWith( '/assets/block.js', $GLOBALS['stub_scripts']['paygate-block'][0] );
		$this->assertSame( array( 'title', 'description', 'supports' ), array_keys( $block->get_payment_method_data() ) );
	}
}
