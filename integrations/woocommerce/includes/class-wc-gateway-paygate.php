<?php
/**
 * The payment method: its settings, the way to paygate's page, and the webhook's endpoint.
 * class-paygate-order.php decides what a payment does to an order.
 */

defined( 'ABSPATH' ) || exit;

class WC_Gateway_Paygate extends WC_Payment_Gateway {

	/** When the last genuine webhook came, in Unix seconds. */
	const LAST_WEBHOOK = 'paygate_last_webhook';

	/** @var bool paygate did not answer in this process: a cron job with many orders stops asking. */
	private $is_away = false;

	public function __construct() {
		$this->id                 = 'paygate';
		$this->has_fields         = false;
		$this->supports           = array( 'products' );
		$this->method_title       = __( 'Bitcoin (paygate)', 'paygate-for-woocommerce' );
		$this->method_description = __( 'Bitcoin payments by your own paygate. Refunds are sent from your own wallet: paygate has no keys, so this plugin cannot send money.', 'paygate-for-woocommerce' );
		$this->init_form_fields();
		$this->init_settings();
		$this->title       = $this->get_option( 'title' );
		$this->description = $this->get_option( 'description' );

		add_action( 'woocommerce_update_options_payment_gateways_paygate', array( $this, 'process_admin_options' ) );
		add_action( 'woocommerce_thankyou_paygate', array( $this, 'thank_you' ) );
	}

	/* Settings. */

	public function init_form_fields() {
		$this->form_fields = array(
			'enabled'     => array(
				'title'   => __( 'Enable', 'paygate-for-woocommerce' ),
				'type'    => 'checkbox',
				'label'   => __( 'Offer Bitcoin at the checkout', 'paygate-for-woocommerce' ),
				'default' => 'no',
			),
			'title'       => array(
				'title'   => __( 'Title', 'paygate-for-woocommerce' ),
				'type'    => 'text',
				'default' => __( 'Bitcoin', 'paygate-for-woocommerce' ),
			),
			'description' => array(
				'title'   => __( 'Description', 'paygate-for-woocommerce' ),
				'type'    => 'textarea',
				'default' => __( 'You pay from your own wallet, on the next page.', 'paygate-for-woocommerce' ),
			),
			'url'         => array(
				'title'       => __( 'URL of paygate', 'paygate-for-woocommerce' ),
				'type'        => 'text',
				'placeholder' => 'https://pay.example.com',
				'default'     => '',
			),
			'api_key'     => array(
				'title'       => __( 'API key', 'paygate-for-woocommerce' ),
				'type'        => 'password',
				'description' => __( 'On the machine of paygate: <code>paygate key add --store 1 --scope payments</code>', 'paygate-for-woocommerce' ),
				'default'     => '',
			),
			'secret'      => array(
				'title'       => __( 'Webhook secret', 'paygate-for-woocommerce' ),
				'type'        => 'password',
				'description' => __( 'It begins with whsec_. <code>paygate store show 1</code> prints it.', 'paygate-for-woocommerce' ),
				'default'     => '',
			),
			'test'        => array(
				'title'   => __( 'Webhook', 'paygate-for-woocommerce' ),
				'type'    => 'paygate_test',
				'default' => '',
			),
		);
	}

	/** @throws Exception with the text that the settings page shows */
	public function validate_url_field( $key, $value ) {
		$text = trim( (string) wp_unslash( $value ) );
		$url  = Paygate_Api::clean_url( $text );
		if ( '' !== $text && '' === $url ) {
			throw new Exception( esc_html__( 'The URL of paygate must be whole, such as https://pay.example.com. It was not saved.', 'paygate-for-woocommerce' ) );
		}
		return $url;
	}

	/** @throws Exception with the text that the settings page shows */
	public function validate_secret_field( $key, $value ) {
		$secret = $this->validate_password_field( $key, $value );
		if ( '' !== $secret && '' === Paygate_Api::secret_key( $secret ) ) {
			throw new Exception( esc_html__( 'The webhook secret begins with whsec_ and is longer. It was not saved.', 'paygate-for-woocommerce' ) );
		}
		return $secret;
	}

	/** An empty field means the stored one, because the page never shows it. */
	public function validate_password_field( $key, $value ) {
		$text = preg_replace( '/\s+/', '', (string) wp_unslash( $value ) );
		return '' === $text ? $this->get_option( $key ) : $text;
	}

	public function validate_paygate_test_field() {
		return '';
	}

	/** A password field that says whether something is stored, and never what. */
	public function generate_password_html( $key, $data ) {
		$name   = $this->get_field_key( $key );
		$stored = '' === $this->get_option( $key ) ? '' : __( 'Stored. Leave empty to keep it.', 'paygate-for-woocommerce' );
		return '<tr valign="top"><th scope="row" class="titledesc"><label for="' . esc_attr( $name ) . '">' . esc_html( $data['title'] )
			. '</label></th><td class="forminp"><input class="input-text regular-input" type="password" autocomplete="new-password" name="'
			. esc_attr( $name ) . '" id="' . esc_attr( $name ) . '" value="" placeholder="' . esc_attr( $stored ) . '" />'
			. '<p class="description">' . wp_kses_post( $data['description'] ) . '</p></td></tr>';
	}

	/** The webhook URL, and a link that tests the connection with the stored settings. */
	public function generate_paygate_test_html( $key, $data ) {
		$page  = admin_url( 'admin.php?page=wc-settings&tab=checkout&section=paygate' );
		$test  = wp_nonce_url( $page . '&paygate_test=1', 'paygate_test' );
		$lines = array();
		$nonce = isset( $_GET['paygate_test'], $_GET['_wpnonce'] ) ? sanitize_text_field( wp_unslash( $_GET['_wpnonce'] ) ) : '';
		if ( '' !== $nonce && wp_verify_nonce( $nonce, 'paygate_test' ) && current_user_can( 'manage_woocommerce' ) ) {
			$lines = $this->test_connection();
		}
		$html = '';
		foreach ( $lines as $line ) {
			$html .= '<li>' . esc_html( $line ) . '</li>';
		}
		return '<tr valign="top"><th scope="row" class="titledesc">' . esc_html( $data['title'] ) . '</th><td class="forminp">'
			. '<p>' . esc_html__( 'On the machine of paygate:', 'paygate-for-woocommerce' ) . '</p>'
			. '<p><code>paygate store set 1 --webhook-url \'' . esc_html( $this->webhook_url() ) . '\'</code></p>'
			. '<p><a class="button" href="' . esc_url( $test ) . '">' . esc_html__( 'Test connection', 'paygate-for-woocommerce' ) . '</a> '
			. esc_html__( 'Save changes first.', 'paygate-for-woocommerce' ) . '</p><ul>' . $html . '</ul></td></tr>';
	}

	/**
	 * Works with every permalink setting, today's and tomorrow's. When this plugin is off, WordPress
	 * answers 404 here, so paygate sends again; `?wc-api=` would show the home page with 200.
	 */
	public function webhook_url(): string {
		return home_url( '/index.php?rest_route=/paygate/v1/webhook' );
	}

	/**
	 * Asks paygate three things that change nothing; returns a sentence about each.
	 *
	 * @return string[]
	 */
	public function test_connection(): array {
		if ( $this->needs_setup() ) {
			return array( __( 'URL, API key and webhook secret are needed first.', 'paygate-for-woocommerce' ) );
		}
		$lines = array();
		try {
			$this->api()->request( 'GET', '/api/v3/orders?limit=1' );
			$lines[] = __( 'The key may read orders.', 'paygate-for-woocommerce' );
		} catch ( Paygate_Exception $error ) {
			/* translators: %s: what paygate answered */
			return array( sprintf( __( 'Orders cannot be read: %s', 'paygate-for-woocommerce' ), $error->getMessage() ) );
		}
		try {
			$this->api()->request( 'POST', '/api/v3/orders', array() );
		} catch ( Paygate_Exception $error ) {
			// An order without a price is refused with 400, if the key may make orders of one store.
			$lines[] = 400 === $error->getCode()
				? __( 'The key may make orders.', 'paygate-for-woocommerce' )
				/* translators: %s: what paygate answered */
				: sprintf( __( 'Orders cannot be made: %s', 'paygate-for-woocommerce' ), $error->getMessage() );
		}
		$currency = get_woocommerce_currency();
		try {
			$price   = $this->api()->request( 'GET', '/api/price?currency=' . rawurlencode( $currency ) )['price'] ?? null;
			$lines[] = is_int( $price ) || is_float( $price )
				/* translators: %s: a currency */
				? sprintf( __( 'There is a price in %s.', 'paygate-for-woocommerce' ), $currency )
				/* translators: %s: a currency */
				: sprintf( __( 'There is no price in %s: customers cannot pay.', 'paygate-for-woocommerce' ), $currency );
		} catch ( Paygate_Exception $error ) {
			/* translators: %s: what paygate answered */
			$lines[] = sprintf( __( 'There are no prices: %s', 'paygate-for-woocommerce' ), $error->getMessage() );
		}
		$last    = (int) get_option( self::LAST_WEBHOOK, 0 );
		$lines[] = 0 === $last
			? __( 'No webhook has come yet. On the machine of paygate: paygate events test --store 1', 'paygate-for-woocommerce' )
			/* translators: %s: date and time */
			: sprintf( __( 'The last webhook came at %s UTC.', 'paygate-for-woocommerce' ), gmdate( 'Y-m-d H:i:s', $last ) );
		return $lines;
	}

	public function needs_setup() {
		return '' === $this->get_option( 'url' ) || '' === $this->get_option( 'api_key' )
			|| '' === Paygate_Api::secret_key( $this->get_option( 'secret' ) );
	}

	public function is_available() {
		return parent::is_available() && ! $this->needs_setup();
	}

	private function api(): Paygate_Api {
		return new Paygate_Api( $this->get_option( 'url' ), $this->get_option( 'api_key' ) );
	}

	/* Checkout. */

	/**
	 * Sends the customer to paygate's page of this order.
	 *
	 * @throws Exception with a text for the customer: the checkout, its block and the page for an order
	 *                   that was not paid show it. The block shows no notice of wc_add_notice().
	 */
	public function process_payment( $order_id ) {
		$url = null;
		try {
			$url = Paygate_Order::locked( (int) $order_id, array( $this, 'payment_url' ) );
		} catch ( Exception $error ) {
			$this->log( (int) $order_id, $error );
		}
		if ( is_string( $url ) && '' !== $url ) {
			return array(
				'result'   => 'success',
				'redirect' => $url,
			);
		}
		$text = '' === $url
			? __( 'A payment for this order has come that does not fit its total. Please contact us before you pay again.', 'paygate-for-woocommerce' )
			: __( 'Bitcoin payments are not available at the moment. Please try again, or choose another way to pay.', 'paygate-for-woocommerce' );
		throw new Exception( esc_html( $text ) );
	}

	/**
	 * The page on which the customer pays, or the thank-you page if enough has come. '' if money came
	 * that the order cannot use: a person has to look. An open order at paygate that fits is used again.
	 *
	 * @throws Exception
	 */
	public function payment_url( Paygate_Order $order ): string {
		$state = $this->refresh( $order, true );
		if ( null !== $state && in_array( $state['status'], array( 'processing', 'paid' ), true ) ) {
			return $order->fits( $state ) ? $this->get_return_url( $order->order ) : '';
		}
		if ( null === $state || ! $this->is_payable( $state ) || ! $order->fits( $state ) ) {
			if ( null !== $state && 'canceled' !== $state['status'] && $state['received_sat'] > 0 ) {
				return '';
			}
			if ( null !== $state && $this->is_payable( $state ) ) {
				// The total has changed: nobody shall pay the old one.
				$order->remember( $this->api()->cancel( $state['id'] ) );
			}
			$state = $this->make( $order );
		}
		if ( $order->order->has_status( 'failed' ) ) {
			$order->order->update_status( 'pending' );
		}
		return $state['page_url'];
	}

	private function is_payable( array $state ): bool {
		return 'open' === $state['status'] && ( null === $state['expires_at'] || $state['expires_at'] > time() );
	}

	/**
	 * Makes an order at paygate. A repetition after a lost answer gets the same one.
	 *
	 * @throws Paygate_Exception
	 */
	private function make( Paygate_Order $order ): array {
		$wc   = $order->order;
		$body = array(
			'amount'     => $order->total(),
			'currency'   => $wc->get_currency(),
			'reference'  => substr( $wc->get_order_number(), 0, 128 ),
			// The key is no text for people, so it is not in the reference, which wallets show.
			'metadata'   => array(
				'wc_order_id'  => (string) $wc->get_id(),
				'wc_order_key' => $wc->get_order_key(),
			),
			'return_url' => $this->get_return_url( $wc ),
		);
		if ( preg_match( '/^([a-z]{2,3})(?:_([A-Z]{2}))?(?:_|$)/D', determine_locale(), $found ) ) {
			$body['language'] = implode( '-', array_slice( $found, 1 ) );
		}
		$same  = wp_json_encode( array( home_url(), $order->count(), $body ) );
		$state = $this->api()->create( $body, 'woo-' . substr( hash( 'sha256', $same ), 0, 32 ) );
		if ( ! $order->fits( $state ) || ! $order->belongs( $state ) ) {
			throw new Paygate_Exception( 'paygate answered with another order', 0 );
		}
		$order->remember( $state );
		$wc->add_order_note( "paygate: {$state['id']}, {$state['amount']} {$state['currency']}" );
		return $state;
	}

	/** The customer is back from paygate's page, perhaps before the webhook. */
	public function thank_you( $order_id ) {
		$order = wc_get_order( $order_id );
		$state = $order instanceof WC_Order && ! $order->is_paid() ? $this->refresh_quietly( (int) $order_id ) : null;
		if ( null !== $state ) {
			echo '<p><a href="' . esc_url( $state['page_url'] ) . '">' . esc_html__( 'State of your Bitcoin payment', 'paygate-for-woocommerce' ) . '</a></p>';
		}
	}

	/* What paygate reports. */

	/**
	 * Receives an event. 200 means "saved" or "not for this shop"; paygate sends all else again.
	 * The signed body holds the whole order, so nothing has to be asked.
	 */
	public function webhook( WP_REST_Request $request ): WP_REST_Response {
		$body   = (string) $request->get_body();
		$header = function ( string $name ) use ( $request ): string {
			return (string) $request->get_header( $name );
		};
		if ( strlen( $body ) > Paygate_Api::MAX_BYTES ) {
			return $this->answer( 413, 'the body is too large' );
		}
		if ( ! Paygate_Api::is_genuine( $this->get_option( 'secret' ), $header( 'webhook-id' ), $header( 'webhook-timestamp' ), $header( 'webhook-signature' ), $body, time() ) ) {
			return $this->answer( 401, 'the signature or the time is wrong: compare the webhook secret and the clocks' );
		}
		update_option( self::LAST_WEBHOOK, time(), false );
		$event = json_decode( $body, true, 16 );
		if ( ! isset( $event['data']['order'] ) ) {
			return $this->answer( 200, 'no event of an order' );
		}
		try {
			$state = Paygate_Api::read_order( $event['data']['order'] );
		} catch ( Paygate_Exception $error ) {
			return $this->answer( 400, $error->getMessage() );
		}
		$id = $state['metadata']['wc_order_id'] ?? '';
		if ( ! is_string( $id ) || ! preg_match( '/^[1-9]\d{0,17}$/D', $id ) ) {
			return $this->answer( 200, 'not an order of this shop' );
		}
		try {
			$is_ours = Paygate_Order::locked(
				(int) $id,
				function ( Paygate_Order $order ) use ( $state ) {
					return $order->receive( $state );
				}
			);
		} catch ( Throwable $error ) {
			$this->log( (int) $id, $error );
			return $this->answer( 503, 'not saved; the log of WooCommerce says why' );
		}
		return $this->answer( 200, $is_ours ? 'saved' : 'not an order of this shop' );
	}

	private function answer( int $status, string $text ): WP_REST_Response {
		return new WP_REST_Response( array( 'message' => $text ), $status );
	}

	/* Asking paygate. */

	/**
	 * Asks paygate for the newest order of this one, and applies it. Null without one, or if this
	 * paygate does not know it: then it was another paygate.
	 *
	 * @throws Exception
	 */
	private function refresh( Paygate_Order $order, bool $is_paying = false ): ?array {
		$id = $order->newest_id();
		if ( null === $id ) {
			return null;
		}
		try {
			$state = $this->api()->order( $id );
		} catch ( Paygate_Exception $error ) {
			if ( 404 === $error->getCode() ) {
				return null;
			}
			throw $error;
		}
		$order->receive( $state, $is_paying );
		return $state;
	}

	/** Null without an order at paygate, or if it could not be asked, which the log has. */
	private function refresh_quietly( int $order_id ): ?array {
		try {
			return Paygate_Order::locked(
				$order_id,
				function ( Paygate_Order $order ) {
					return $this->refresh( $order );
				}
			);
		} catch ( Exception $error ) {
			$this->log( $order_id, $error );
			$this->is_away = true;
			return null;
		}
	}

	/** The action of the order's page in the admin. */
	public function refresh_by_hand( WC_Order $order ): void {
		if ( null === $this->refresh_quietly( $order->get_id() ) ) {
			$order->add_order_note( __( 'paygate has no order for this one, or did not answer.', 'paygate-for-woocommerce' ) );
		}
	}

	/**
	 * WooCommerce is about to cancel an order as unpaid. A webhook may have been lost, so paygate is
	 * asked. Without its answer, or if money came, the order stays until the next time.
	 */
	public function may_cancel_unpaid( $cancel, $order ) {
		if ( ! $cancel || ! Paygate_Order::records_of( $order ) ) {
			return $cancel;
		}
		$state = $this->is_away ? null : $this->refresh_quietly( $order->get_id() );
		$fresh = wc_get_order( $order->get_id() );
		return null !== $state && 0 === $state['received_sat'] && $fresh instanceof WC_Order && $fresh->has_status( 'pending' );
	}

	/** The order was cancelled in the shop: its page at paygate shall take no money any more. */
	public function cancel_at_paygate( int $order_id ): void {
		if ( Paygate_Order::is_locked_here( $order_id ) ) {
			return; // It was paygate that cancelled.
		}
		try {
			Paygate_Order::locked(
				$order_id,
				function ( Paygate_Order $order ) {
					if ( 'open' === $order->newest_status() ) {
						$order->remember( $this->api()->cancel( $order->newest_id() ) );
					}
				}
			);
		} catch ( Exception $error ) {
			$this->log( $order_id, $error );
			$order = wc_get_order( $order_id );
			if ( $order instanceof WC_Order ) {
				$order->add_order_note( __( 'paygate could not cancel its order: a payment may be under way. Look at it in paygate.', 'paygate-for-woocommerce' ) );
			}
		}
	}

	private function log( int $order_id, Throwable $error ): void {
		wc_get_logger()->error( "Order $order_id: " . Paygate_Api::line( $error->getMessage() ), array( 'source' => 'paygate' ) );
	}
}
