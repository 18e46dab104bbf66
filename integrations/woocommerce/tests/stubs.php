<?php
/**
 * The few functions of WordPress and WooCommerce that the plugin uses, as their sources behave.
 * An order is a file of the folder STUB_FOLDER, so that several processes share it as a database.
 */

namespace Automattic\WooCommerce\Utilities {
	class FeaturesUtil {
		public static $declared = array();

		public static function declare_compatibility( $feature, $file, $is_compatible ) {
			self::$declared[ $feature ] = $is_compatible;
		}
	}
}

namespace Automattic\WooCommerce\Blocks\Payments\Integrations {
	abstract class AbstractPaymentMethodType {
		protected $name = '';

		public function get_name() {
			return $this->name;
		}
	}
}

namespace {
	define( 'ABSPATH', __DIR__ );
	define( 'DB_NAME', 'shop' );

	function stub_path( string $name ): string {
		return getenv( 'STUB_FOLDER' ) . '/' . $name;
	}

	/** Changes a JSON file while no other process does; returns the new content. */
	function stub_change( string $name, callable $change ) {
		$file = fopen( stub_path( $name ), 'c+' );
		flock( $file, LOCK_EX );
		$new = $change( json_decode( stream_get_contents( $file ), true ) );
		rewind( $file );
		ftruncate( $file, 0 );
		fwrite( $file, json_encode( $new ) );
		fclose( $file );
		return $new;
	}

	function stub_read( string $name, $otherwise = null ) {
		return is_file( stub_path( $name ) ) ? json_decode( file_get_contents( stub_path( $name ) ), true ) : $otherwise;
	}

	/* Hooks. */

	$GLOBALS['stub_hooks'] = array();

	function add_filter( $name, $callback, $priority = 10, $count = 1 ) {
		$GLOBALS['stub_hooks'][ $name ][] = array( $callback, $count );
	}

	function add_action( $name, $callback, $priority = 10, $count = 1 ) {
		add_filter( $name, $callback, $priority, $count );
	}

	function apply_filters( $name, $value, ...$more ) {
		foreach ( $GLOBALS['stub_hooks'][ $name ] ?? array() as list( $callback, $count ) ) {
			$value = $callback( ...array_slice( array( $value, ...$more ), 0, $count ) );
		}
		return $value;
	}

	function do_action( $name, ...$values ) {
		foreach ( $GLOBALS['stub_hooks'][ $name ] ?? array() as list( $callback, $count ) ) {
			$callback( ...array_slice( $values, 0, $count ) );
		}
	}

	/* Text and addresses. */

	function __( $text, $domain = 'default' ) {
		return $text;
	}

	function esc_html( $text ) {
		return htmlspecialchars( (string) $text, ENT_QUOTES );
	}

	function esc_attr( $text ) {
		return esc_html( $text );
	}

	function esc_url( $url ) {
		return esc_html( $url );
	}

	function esc_html__( $text, $domain = 'default' ) {
		return esc_html( $text );
	}

	function wp_kses_post( $html ) {
		return $html;
	}

	function wp_strip_all_tags( $text ) {
		return strip_tags( $text );
	}

	function sanitize_text_field( $text ) {
		return trim( strip_tags( $text ) );
	}

	function wp_unslash( $value ) {
		return is_string( $value ) ? stripslashes( $value ) : $value;
	}

	function wp_json_encode( $value, $flags = 0 ) {
		return json_encode( $value, $flags );
	}

	function wp_parse_url( $url ) {
		return parse_url( $url );
	}

	function home_url( $path = '' ) {
		return ( getenv( 'STUB_HOME' ) ?: 'https://shop.example' ) . $path;
	}

	function admin_url( $path = '' ) {
		return home_url( "/wp-admin/$path" );
	}

	function plugin_basename( $file ) {
		return basename( dirname( $file ) ) . '/' . basename( $file );
	}

	function plugins_url( $path, $plugin ) {
		return home_url( '/wp-content/plugins/' . basename( dirname( $plugin ) ) . "/$path" );
	}

	function get_file_data( $file, $headers ) {
		$text = file_get_contents( $file );
		return array_map(
			function ( $header ) use ( $text ) {
				return preg_match( '/^[ \t*]*' . preg_quote( $header, '/' ) . ':(.*)$/mi', $text, $found ) ? trim( $found[1] ) : '';
			},
			$headers
		);
	}

	function determine_locale() {
		return $GLOBALS['stub_locale'] ?? 'de_DE_formal';
	}

	/* Users. */

	function wp_nonce_url( $url, $action ) {
		return "$url&_wpnonce=nonce-$action";
	}

	function wp_verify_nonce( $nonce, $action ) {
		return "nonce-$action" === $nonce;
	}

	function current_user_can( $capability ) {
		return in_array( $capability, $GLOBALS['stub_capabilities'] ?? array(), true );
	}

	/* The database. */

	function get_option( $name, $otherwise = false ) {
		return stub_read( 'options.json', array() )[ $name ] ?? $otherwise;
	}

	function update_option( $name, $value, $autoload = null ) {
		stub_change(
			'options.json',
			function ( $options ) use ( $name, $value ) {
				return array( $name => $value ) + (array) $options;
			}
		);
		return true;
	}

	function delete_option( $name ) {
		stub_change(
			'options.json',
			function ( $options ) use ( $name ) {
				return array_diff_key( (array) $options, array( $name => true ) );
			}
		);
	}

	function clean_post_cache( $id ) {}

	function wp_cache_supports( $feature ) {
		return false;
	}

	/** Named locks of the server: GET_LOCK waits, and the lock ends with the process. */
	class Stub_Wpdb {
		public $prefix = 'wp_';

		/** @var bool Another connection has every lock. */
		public $is_busy = false;

		private $held = array();

		public function prepare( $query, ...$values ) {
			return array( $query, $values );
		}

		public function get_var( $prepared ) {
			list( $query, $values ) = $prepared;
			$name                   = $values[0];
			if ( strlen( $name ) > 64 ) {
				return null;
			}
			if ( 'SELECT RELEASE_LOCK(%s)' === $query ) {
				unset( $this->held[ $name ] );
				return '1';
			}
			if ( $this->is_busy ) {
				return '0';
			}
			$file = fopen( stub_path( $name ), 'c' );
			flock( $file, LOCK_EX );
			$this->held[ $name ] = $file;
			return '1';
		}

		public function is_locked() {
			return array() !== $this->held;
		}
	}

	$GLOBALS['wpdb'] = new Stub_Wpdb();

	/* HTTP. */

	class WP_Error {
		private $message;

		public function __construct( $code, $message ) {
			$this->message = $message;
		}

		public function get_error_message() {
			return $this->message;
		}
	}

	function is_wp_error( $thing ) {
		return $thing instanceof WP_Error;
	}

	function wp_remote_request( $url, $options ) {
		if ( isset( $GLOBALS['stub_http'] ) ) {
			return $GLOBALS['stub_http']( $url, $options );
		}
		$headers = '';
		foreach ( $options['headers'] as $name => $value ) {
			$headers .= "$name: $value\r\n";
		}
		$http = array(
			'method'          => $options['method'],
			'header'          => $headers,
			'content'         => $options['body'],
			'timeout'         => $options['timeout'],
			'follow_location' => $options['redirection'],
			'ignore_errors'   => true,
		);
		$stream = @fopen( $url, 'r', false, stream_context_create( array( 'http' => $http ) ) );
		if ( false === $stream ) {
			return new WP_Error( 'http_request_failed', 'connection refused' );
		}
		return array(
			'status' => (int) explode( ' ', stream_get_meta_data( $stream )['wrapper_data'][0] )[1],
			'body'   => stream_get_contents( $stream ),
		);
	}

	function wp_remote_retrieve_response_code( $response ) {
		return $response['status'];
	}

	function wp_remote_retrieve_body( $response ) {
		return $response['body'];
	}

	class WP_REST_Request {
		private $headers;
		private $body;

		public function __construct( array $headers, string $body ) {
			$this->headers = array_change_key_case( $headers );
			$this->body    = $body;
		}

		public function get_header( $name ) {
			return $this->headers[ strtolower( $name ) ] ?? null;
		}

		public function get_body() {
			return $this->body;
		}
	}

	class WP_REST_Response {
		public $data;
		public $status;

		public function __construct( $data, $status ) {
			$this->data   = $data;
			$this->status = $status;
		}
	}

	function __return_true() {
		return true;
	}

	function register_rest_route( $space, $route, $options ) {
		$GLOBALS['stub_routes'][ "/$space$route" ] = $options;
	}

	function wp_register_script( $handle, $url, $dependencies, $version, $in_footer ) {
		$GLOBALS['stub_scripts'][ $handle ] = array( $url, $dependencies, $version );
	}

	/* WooCommerce. */

	function get_woocommerce_currency() {
		return 'EUR';
	}

	function wc_format_decimal( $number, $decimals ) {
		return number_format( (float) $number, $decimals, '.', '' );
	}

	function wc_get_is_paid_statuses() {
		return array( 'processing', 'completed' );
	}

	function wc_get_logger() {
		return new class() {
			public function error( $text, $context ) {
				file_put_contents( stub_path( 'log' ), "$text\n", FILE_APPEND );
			}
		};
	}

	function wc_get_order( $id ) {
		return is_file( stub_path( "order-$id.json" ) ) ? new WC_Order( $id ) : false;
	}

	/** One item in it, whose stock is the file `stock.json`. */
	class WC_Order {
		private $data;
		private $changed = array();

		public function __construct( $id ) {
			$this->data = stub_read( "order-$id.json" );
		}

		public function get_id() {
			return $this->data['id'];
		}

		public function get_order_number() {
			return (string) $this->data['id'];
		}

		public function get_order_key() {
			return $this->data['key'];
		}

		public function get_total() {
			return $this->data['total'];
		}

		public function get_currency() {
			return $this->data['currency'];
		}

		public function get_payment_method() {
			return $this->data['method'];
		}

		public function get_transaction_id() {
			return $this->data['transaction'] ?? '';
		}

		public function set_transaction_id( $id ) {
			$this->set( 'transaction', $id );
		}

		public function get_status() {
			return $this->data['status'];
		}

		public function has_status( $statuses ) {
			return in_array( $this->get_status(), (array) $statuses, true );
		}

		public function is_paid() {
			return $this->has_status( wc_get_is_paid_statuses() );
		}

		public function get_meta( $key ) {
			return $this->data['meta'][ $key ] ?? '';
		}

		public function update_meta_data( $key, $value ) {
			$this->set( 'meta', array( $key => $value ) + ( $this->data['meta'] ?? array() ) );
		}

		public function save_meta_data() {
			$this->save();
		}

		private function set( $field, $value ) {
			$this->data[ $field ]    = $value;
			$this->changed[ $field ] = $value;
		}

		public function save() {
			if ( ! empty( $GLOBALS['stub_disk_is_full'] ) ) {
				throw new Exception( 'the disk is full' );
			}
			stub_change(
				'order-' . $this->get_id() . '.json',
				function ( $stored ) {
					return array_merge( $stored, $this->changed );
				}
			);
			$this->changed = array();
		}

		public function add_order_note( $text ) {
			stub_change(
				'order-' . $this->get_id() . '.json',
				function ( $stored ) use ( $text ) {
					$stored['notes'][] = $text;
					return $stored;
				}
			);
		}

		public function update_status( $status, $note = '' ) {
			try {
				$from = $this->get_status();
				$this->set( 'status', $status );
				$this->save();
				if ( $from !== $status ) {
					$this->add_order_note( trim( "$note Order status changed from $from to $status." ) );
					$this->move_stock();
					do_action( "woocommerce_order_status_$status", $this->get_id(), $this );
				}
			} catch ( Exception $error ) {
				return false;
			}
			return true;
		}

		public function payment_complete( $transaction = '' ) {
			// Hooks of other plugins take their time here, on an order that was read before.
			usleep( (int) getenv( 'STUB_SLOW_US' ) );
			if ( ! $this->has_status( array( 'on-hold', 'pending', 'failed', 'cancelled' ) ) ) {
				return true;
			}
			$this->set_transaction_id( $transaction );
			if ( ! $this->update_status( 'processing' ) ) {
				return false;
			}
			stub_change(
				'completed.json',
				function ( $count ) {
					return (int) $count + 1;
				}
			);
			return true;
		}

		/** The flag is read with the order, so two processes without a lock both find it unset. */
		private function move_stock() {
			$is_reduced = $this->data['stock_reduced'] ?? false;
			$shall_be   = $this->has_status( array( 'on-hold', 'processing', 'completed' ) );
			$keeps      = $this->has_status( 'failed' );
			if ( $keeps || $is_reduced === $shall_be ) {
				return;
			}
			stub_change(
				'stock.json',
				function ( $stock ) use ( $shall_be ) {
					return $stock + ( $shall_be ? -1 : 1 );
				}
			);
			$this->set( 'stock_reduced', $shall_be );
			$this->save();
		}
	}

	abstract class WC_Payment_Gateway {
		public $id          = '';
		public $title       = '';
		public $description = '';
		public $has_fields  = false;
		public $supports    = array();
		public $settings    = array();
		public $errors      = array();
		public $form_fields = array();
		public $method_title;
		public $method_description;

		public function init_settings() {
			$this->settings = get_option( "woocommerce_{$this->id}_settings", array() );
		}

		public function get_option( $key ) {
			return $this->settings[ $key ] ?? $this->form_fields[ $key ]['default'];
		}

		public function get_field_key( $key ) {
			return "woocommerce_{$this->id}_$key";
		}

		public function get_title() {
			return $this->title;
		}

		public function get_description() {
			return $this->description;
		}

		public function is_available() {
			return 'yes' === $this->get_option( 'enabled' );
		}

		public function get_return_url( $order ) {
			return home_url( "/checkout/order-received/{$order->get_id()}/?key={$order->get_order_key()}" );
		}

		public function process_admin_options() {
			$this->init_settings();
			foreach ( $this->form_fields as $key => $field ) {
				$value = $_POST[ $this->get_field_key( $key ) ] ?? null;
				try {
					foreach ( array( "validate_{$key}_field", "validate_{$field['type']}_field" ) as $method ) {
						if ( method_exists( $this, $method ) ) {
							$value = $this->$method( $key, $value );
							break;
						}
					}
					$this->settings[ $key ] = $value;
				} catch ( Exception $error ) {
					$this->errors[] = $error->getMessage();
				}
			}
			update_option( "woocommerce_{$this->id}_settings", $this->settings );
		}
	}
}
