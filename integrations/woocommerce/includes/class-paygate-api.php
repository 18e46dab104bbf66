<?php
/**
 * paygate's side: requests to its API, its orders read strictly, signatures of its webhooks.
 * It knows nothing of WooCommerce, and never shows or logs the key.
 * paygate: docs/orders.md, docs/webhooks.md
 */

defined( 'ABSPATH' ) || exit;

/** A request failed. The code is that of paygate's error, the HTTP status, or 0 without an answer. */
final class Paygate_Exception extends Exception {}

final class Paygate_Api {

	const STATUSES = array( 'open', 'processing', 'paid', 'expired', 'canceled' );

	/** By how many seconds the time of a signature may differ from ours. */
	const TOLERANCE = 300;

	const MAX_BYTES = 1000000;

	/** @var string */
	private $url;

	/** @var string */
	private $key;

	/** @param string $url as clean_url() returns it */
	public function __construct( string $url, string $key ) {
		$this->url = $url;
		$this->key = $key;
	}

	/**
	 * Returns a URL without a slash at its end, or '' if it is none. A path is allowed for a proxy.
	 */
	public static function clean_url( string $text ): string {
		$url   = rtrim( trim( $text ), '/' );
		$parts = wp_parse_url( $url );
		$whole = is_array( $parts ) && ! empty( $parts['host'] )
			&& in_array( $parts['scheme'] ?? '', array( 'https', 'http' ), true );
		$extra = array( 'user', 'pass', 'query', 'fragment' );
		return $whole && ! array_intersect_key( $parts, array_flip( $extra ) ) ? $url : '';
	}

	/** The key of a webhook secret such as whsec_…, or '' if the secret is not whole. */
	public static function secret_key( string $secret ): string {
		if ( ! preg_match( '/^whsec_([A-Za-z0-9+\/]+={0,2})$/D', $secret, $found ) ) {
			return '';
		}
		$key = base64_decode( $found[1], true );
		return is_string( $key ) && strlen( $key ) >= 24 ? $key : '';
	}

	/**
	 * Whether paygate signed this body now: Standard Webhooks, HMAC-SHA256 of id.timestamp.body.
	 * A rotation of the secret sends two signatures; one that fits is enough.
	 */
	public static function is_genuine( string $secret, string $id, string $time, string $signatures, string $body, int $now ): bool {
		$key = self::secret_key( $secret );
		if ( '' === $key || ! preg_match( '/^\d{1,12}$/D', $time ) || abs( $now - (int) $time ) > self::TOLERANCE ) {
			return false;
		}
		$expected = 'v1,' . base64_encode( hash_hmac( 'sha256', "$id.$time.$body", $key, true ) );
		$genuine  = false;
		foreach ( explode( ' ', $signatures ) as $given ) {
			$genuine = hash_equals( $expected, $given ) || $genuine;
		}
		return $genuine;
	}

	/**
	 * Makes an order. The same idempotency key and body get the same order for a day.
	 *
	 * @throws Paygate_Exception
	 */
	public function create( array $body, string $idempotency_key ): array {
		$headers = array( 'Idempotency-Key' => $idempotency_key );
		return self::read_order( $this->request( 'POST', '/api/v3/orders', $body, $headers ) );
	}

	/** @throws Paygate_Exception */
	public function order( string $id ): array {
		return $this->same( $id, $this->request( 'GET', "/api/v3/orders/$id" ) );
	}

	/** @throws Paygate_Exception with the code 409 once enough was paid */
	public function cancel( string $id ): array {
		return $this->same( $id, $this->request( 'POST', "/api/v3/orders/$id/cancel" ) );
	}

	private function same( string $id, array $json ): array {
		$state = self::read_order( $json );
		if ( $id !== $state['id'] ) {
			throw new Paygate_Exception( 'paygate answered with another order', 0 );
		}
		return $state;
	}

	/**
	 * Sends a request; returns the JSON of an answer with 200.
	 *
	 * @throws Paygate_Exception
	 */
	public function request( string $method, string $path, ?array $body = null, array $headers = array() ): array {
		$response = wp_remote_request(
			$this->url . $path,
			array(
				'method'              => $method,
				'timeout'             => 15,
				// A redirect would take the key to another place.
				'redirection'         => 0,
				'limit_response_size' => self::MAX_BYTES,
				'headers'             => $headers + array(
					'Authorization' => 'Bearer ' . $this->key,
					'Accept'        => 'application/json',
					'Content-Type'  => 'application/json',
				),
				'body'                => null === $body ? '' : wp_json_encode( $body, JSON_FORCE_OBJECT | JSON_UNESCAPED_SLASHES ),
			)
		);
		if ( is_wp_error( $response ) ) {
			throw new Paygate_Exception( 'no connection: ' . self::line( $response->get_error_message() ), 0 );
		}
		$status = (int) wp_remote_retrieve_response_code( $response );
		$json   = json_decode( (string) wp_remote_retrieve_body( $response ), true, 16 );
		if ( 200 !== $status ) {
			$message = $json['message'] ?? null;
			$code    = $json['error']['code'] ?? null;
			$text    = is_string( $message ) ? self::line( $message ) : 'an answer that is not from paygate';
			throw new Paygate_Exception( "HTTP $status: $text", is_int( $code ) ? $code : $status );
		}
		if ( ! is_array( $json ) ) {
			throw new Paygate_Exception( 'an answer that is no JSON: is the URL that of paygate?', 0 );
		}
		return $json;
	}

	/** Text of a stranger as one short line, for a log or a page of the merchant. */
	public static function line( string $text ): string {
		return substr( preg_replace( '/[^\x20-\x7e]+/', ' ', wp_strip_all_tags( $text ) ), 0, 300 );
	}

	/** A decimal amount in its shortest form, so that 12.5 equals 12.50; '' if it is none. */
	public static function plain_amount( string $text ): string {
		if ( ! preg_match( '/^(0|[1-9]\d{0,14})(?:\.(\d{1,8}))?$/D', $text, $found ) ) {
			return '';
		}
		$decimals = rtrim( $found[2] ?? '', '0' );
		return '' === $decimals ? $found[1] : "$found[1].$decimals";
	}

	/**
	 * Reads an order of the API or of an event, and refuses what is not one.
	 *
	 * @param mixed $json
	 * @return array id, version, status, is_late, amount, currency, amount_sat, received_sat, excess_sat,
	 *               page_url, metadata, expires_at, txids (the newest that is not gone first)
	 * @throws Paygate_Exception
	 */
	public static function read_order( $json ): array {
		$order = is_array( $json ) ? $json : array();
		$text  = function ( string $field, string $shape ) use ( $order ): bool {
			return is_string( $order[ $field ] ?? null ) && 1 === preg_match( $shape, $order[ $field ] );
		};
		$valid = $text( 'id', '/^ord_[0-9A-Za-z]{1,40}$/D' )
			&& in_array( $order['status'] ?? null, self::STATUSES, true )
			&& is_bool( $order['late'] ?? null )
			&& is_int( $order['version'] ?? null ) && $order['version'] > 0
			&& $text( 'page_url', '~^https?://[^\s"\'<>\\\\]{1,2000}/o/' . preg_quote( $order['id'], '~' ) . '$~D' );
		foreach ( array( 'amount_sat', 'received_sat', 'excess_sat' ) as $field ) {
			$valid = $valid && is_int( $order[ $field ] ?? null ) && $order[ $field ] >= 0;
		}
		if ( ! $valid ) {
			throw new Paygate_Exception( 'an answer that is no order', 0 );
		}
		$txids = array();
		foreach ( (array) ( $order['payments'] ?? array() ) as $payment ) {
			$txid = is_array( $payment ) && false === ( $payment['gone'] ?? null ) ? ( $payment['txid'] ?? '' ) : '';
			if ( is_string( $txid ) && preg_match( '/^[0-9a-f]{64}$/D', $txid ) ) {
				$txids[] = $txid;
			}
		}
		return array(
			'id'           => $order['id'],
			'version'      => $order['version'],
			'status'       => $order['status'],
			'is_late'      => $order['late'],
			'amount'       => self::plain_amount( is_string( $order['amount'] ?? null ) ? $order['amount'] : '' ),
			'currency'     => $text( 'currency', '/^[A-Z]{3}$/D' ) ? $order['currency'] : '',
			'amount_sat'   => $order['amount_sat'],
			'received_sat' => $order['received_sat'],
			'excess_sat'   => $order['excess_sat'],
			'page_url'     => $order['page_url'],
			'metadata'     => is_array( $order['metadata'] ?? null ) ? $order['metadata'] : array(),
			'expires_at'   => is_int( $order['expires_at'] ?? null ) ? $order['expires_at'] : null,
			'txids'        => $txids,
		);
	}
}
