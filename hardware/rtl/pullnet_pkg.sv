// Types that the modules of the trimming switch share.
package pullnet_pkg;
  localparam int MAX_FRAME = 1664;    // bytes of the longest frame
  localparam int MAX_HEADERS = 128;   // bytes that a trim may leave: every first cell holds them

  // Beats of a cell, the unit of the packet memory, by bits of a beat: 128 B, or 160 B where beats are wide. One cell may
  // begin in each cycle, so frames that just need a second cell must not come too often at the lower clock of wide beats.
  function automatic int beats_of_cell(input int w);
    beats_of_cell = w == 256 ? 5 : 8;
  endfunction
  // Cells of the longest frame beyond its first one.
  function automatic int body_cells(input int w);
    body_cells = (MAX_FRAME - 1) / (beats_of_cell(w) * w / 8);
  endfunction

  typedef logic [9:0] cell_t;   // cell number
  typedef logic [13:0] len_t;   // bytes of a frame without frame check sequence
  typedef logic [19:0] room_t;  // room in a queue, in frames or bytes
  typedef logic [47:0] mac_t;
  typedef logic [31:0] ip_t;
  typedef logic [2:0] kind_t;

  // What a frame is to a switch.
  localparam kind_t DATA = 3'd0;      // a switch may cut its payload
  localparam kind_t CONTROL = 3'd1;   // ACK, NACK, PULL and the like
  localparam kind_t HEADER = 3'd2;    // what a trim left
  localparam kind_t RETURNED = 3'd3;  // the same on its way back to its sender
  localparam kind_t FOREIGN = 3'd4;   // another protocol: has to stay whole

  // What became of a frame that came to a queue. The victim may be an older frame than the arriving one.
  typedef logic [2:0] verdict_t;
  localparam verdict_t QUEUED = 3'd0;
  localparam verdict_t TRIMMED = 3'd1;
  localparam verdict_t SENT_BACK = 3'd2;
  localparam verdict_t DATA_FULL = 3'd3;
  localparam verdict_t CONTROL_FULL = 3'd4;

  // A frame as queues see it: where its bytes lie, and what the egress rewriter has to know.
  typedef struct packed {
    cell_t head;           // first cell
    cell_t body;           // first of the further cells
    logic has_body;
    logic shared;          // flooded: PORTS - 1 outputs hold it
    len_t len;
    kind_t kind;
    logic [7:0] keep;      // bytes that a trim leaves
    logic ip;              // an IPv4 or IPv6 header is there whole
    logic ipv6;
    logic vlan;          // one VLAN tag
    logic [3:0] ihl;       // IPv4: header length in 32-bit words
    logic [7:0] tos;       // IPv4 type of service, IPv6 traffic class
    logic [15:0] sum;      // IPv4: sum of the header without its first word and the checksum
    logic [15:0] ip_len;   // IPv4: total length
    logic marked;          // congestion is to be marked
    logic cut;             // lengths are to be corrected
    logic turned;          // addresses are to be exchanged
    logic group;           // sent to a group address
  } frame_t;

  // A frame on its way to the lookup.
  typedef struct packed {
    mac_t to;
    mac_t from;
    ip_t to_ip;            // IPv4 addresses; only where `v4` is set
    ip_t from_ip;
    logic v4;              // an IPv4 header is there whole
    logic labelled;        // `label` is there
    logic [15:0] label;    // path that the sender chose
    logic [15:0] to_port;  // UDP destination port
    logic fragment;
    logic bad;             // shorter than an Ethernet header, too long, or with a wrong check sequence
    frame_t frame;
  } ticket_t;

  // The cells of a frame that are not needed any more.
  typedef struct packed {
    cell_t head;
    cell_t body;
    logic has_head;
    logic has_body;
    logic shared;
  } release_t;

  // What is written into the headers of a frame on its way out.
  typedef struct packed {
    logic turned;
    logic cut;
    logic marked;
    logic artifact;
    logic ip;
    logic ipv6;
    logic ipv4_sum;         // the checksum is calculated anew
    logic vlan;
    logic [4:0] next;       // what IP carries begins at half-word 2 * next + 1
    logic [7:0] tos;
    logic [3:0] ihl;
    logic [15:0] ip_len;
    logic [15:0] udp_len;
    logic [15:0] sum;
    logic [15:0] delta;     // what a congestion mark adds to the checksum (RFC 1624)
    logic [4:0] empty;       // bytes of the last beat of 32 B that do not belong to the frame; its low bits for shorter beats
  } plan_t;

  // Settings that a host may change while nothing is queued.
  typedef struct packed {
    room_t data_limit;         // room for data, the frame in service included
    room_t control_limit;      // room for control frames, the one in service excluded
    logic data_in_bytes;       // limits are bytes instead of frames
    logic control_in_bytes;
    logic [7:0] control_per_data;
    logic [7:0] trim_to;       // at most MAX_HEADERS
    logic coin;                // 0: the arriving frame is always the victim
    logic send_back;           // return to sender
    logic mark;                // congestion is marked (ECN)
    logic [7:0] mark_above;    // data frames held
    logic [3:0][5:0] dscp;     // by kind: data, control, header, returned
    logic learn;
    logic flood;               // 0: frames to unknown addresses are dropped
    logic artifact;            // the wire layout of the paper's artifact: IP protocol 199
  } config_t;

  // Ports that lead to a destination.
  typedef struct packed {
    logic [1:0] log2_ports;    // 1, 2 or 4 equal ports
    logic [3:0][2:0] ports;
    logic [3:0] shift;         // which bits of the label choose
    logic [15:0] mask;
  } ways_t;

  // A fixed entry of the forwarding table.
  typedef struct packed {
    logic valid;
    mac_t mac;
    ways_t ways;
  } entry_t;

  // A route: IPv4 destinations that agree with `net` in the bits of `bits`. The first route that matches decides, so the
  // host writes longer prefixes first, as into any ternary memory.
  typedef struct packed {
    logic valid;
    ip_t net;
    ip_t bits;
    ways_t ways;
  } route_t;

  // Room that a frame takes in a queue.
  function automatic room_t share(input logic in_bytes, input len_t len);
    share = in_bytes ? room_t'(len) : 20'd1;
  endfunction

  // What limits leave for the frames that are held already, if a frame joins them: negative if it does not fit alone.
  typedef logic [20:0] left_t;
  typedef struct packed {
    left_t data;     // among data
    left_t control;  // among control frames
    left_t trimmed;  // among control frames, for what a trim leaves of it
    logic is_long;   // it needs more than its first cell, or might
  } fit_t;
  function automatic fit_t fit_of(input config_t cfg, input frame_t frame);
    fit_of.data = {1'b0, cfg.data_limit} - left_t'(share(cfg.data_in_bytes, frame.len));
    fit_of.control = {1'b0, cfg.control_limit} - left_t'(share(cfg.control_in_bytes, frame.len));
    fit_of.trimmed = {1'b0, cfg.control_limit} - left_t'(share(cfg.control_in_bytes, len_t'(frame.keep)));
    fit_of.is_long = frame.len > len_t'(MAX_HEADERS);
  endfunction

  // Whether what is held leaves room for a frame.
  function automatic logic leaves_room(input room_t held, input left_t left);
    leaves_room = !left[20] && held <= left[19:0];
  endfunction

  // Whether a frame goes with data or with control frames.
  function automatic logic is_control(input kind_t kind);
    is_control = kind == CONTROL || kind == HEADER || kind == RETURNED;
  endfunction

  // Whether a frame is marked (ECN): a queue holds more frames than the threshold, and the frame's transport is capable.
  // Where control has a queue of its own, only data is marked.
  function automatic logic congested(input config_t cfg, input logic [7:0] held, input frame_t frame, input logic one_queue);
    congested = cfg.mark && held > cfg.mark_above && frame.ip && frame.tos[1:0] != 0
        && (one_queue || !is_control(frame.kind));
  endfunction

  // Folds a sum of 16-bit words as RFC 1071 has it.
  function automatic logic [15:0] fold(input logic [23:0] sum);
    logic [16:0] once;
    once = {1'b0, sum[15:0]} + {9'b0, sum[23:16]};
    fold = once[15:0] + {15'b0, once[16]};
  endfunction
endpackage
