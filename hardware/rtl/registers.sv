// What a host sees of the switch: settings to write, counters to read. One 32-bit word at each address. Words 0x01 to 0x05
// read back what is in force. What is read is there four cycles after its address.
//
//   0x00        read: 0x504e5701 ("PNW", version 1)
//   0x01        flags, from bit 0: data limit in bytes, control limit in bytes, coin, send back, mark, learn, flood, artifact
//   0x02, 0x03  room for data and for control frames
//   0x04        control frames per data frame (7..0), bytes that a trim leaves (15..8; at most 128, more is taken as 128: the
//               first cell of a frame holds no more), mark above so many frames (23..16)
//   0x05        DSCP of data (5..0), control (13..8), trimmed (21..16) and returned frames (29..24)
//   0x40 + 4n   fixed entry n: address 31..0; address 47..32 with bit 16 for "valid"; ports in 4 bits each with their number's
//               logarithm in 17..16 and the shift in 23..20; mask
//   0x60 + 4n   route n: network; netmask; ports as above with bit 31 for "valid"; mask. The first route that matches decides:
//               longer prefixes first
//   0x80 + 32p  counters of port p, in the order of counters.sv
module registers
  import pullnet_pkg::*;
#(
    parameter int FIXED = 8,   // at most 8
    parameter int ROUTES = 8   // at most 8
) (
    input logic clk,
    input logic rst,
    input logic write,
    input logic [7:0] address,
    input logic [31:0] write_data,
    output logic [31:0] read_data,
    output config_t cfg,
    output entry_t [FIXED-1:0] fixed,
    output route_t [ROUTES-1:0] routes,
    output logic [6:0] counter_address,
    input logic [31:0] counter_value
);
  logic [3:0] is_counter;
  assign counter_address = address[6:0];

  // Third word of an entry.
  function automatic ways_t ways_of(input logic [31:0] word, input logic [15:0] mask);
    ways_of.ports = {word[14:12], word[10:8], word[6:4], word[2:0]};
    ways_of.log2_ports = word[17:16];
    ways_of.shift = word[23:20];
    ways_of.mask = mask;
  endfunction

  // What is written, and to which entry, from registers: entries lie all over a chip.
  logic writes;
  logic [7:0] at;
  logic [31:0] word;
  logic [FIXED-1:0] to_fixed;
  logic [ROUTES-1:0] to_route;
  always_ff @(posedge clk) begin
    writes <= write && !rst;
    at <= address;
    word <= write_data;
    for (int e = 0; e < FIXED; e++) to_fixed[e] <= write && !rst && address[7:5] == 3'b010 && int'(address[4:2]) == e;
    for (int e = 0; e < ROUTES; e++) to_route[e] <= write && !rst && address[7:5] == 3'b011 && int'(address[4:2]) == e;
  end

  logic [31:0] setting;
  always_ff @(posedge clk) begin
    is_counter <= {is_counter[2:0], address[7]};
    case (at)
      8'h01: setting <= 32'({cfg.artifact, cfg.flood, cfg.learn, cfg.mark, cfg.send_back, cfg.coin, cfg.control_in_bytes,
          cfg.data_in_bytes});
      8'h02: setting <= 32'(cfg.data_limit);
      8'h03: setting <= 32'(cfg.control_limit);
      8'h04: setting <= 32'({cfg.mark_above, cfg.trim_to, cfg.control_per_data});
      8'h05: setting <= {2'b0, cfg.dscp[RETURNED], 2'b0, cfg.dscp[HEADER], 2'b0, cfg.dscp[CONTROL], 2'b0, cfg.dscp[DATA]};
      default: setting <= 32'h504e_5701;
    endcase
    read_data <= is_counter[2] ? counter_value : setting;
  end

  always_ff @(posedge clk) begin
    if (rst) begin
      cfg <= '0;
      cfg.data_limit <= 20'd8;
      cfg.control_limit <= 20'd56;
      cfg.control_per_data <= 8'd10;
      cfg.trim_to <= 8'd64;
      cfg.coin <= 1'b1;
      cfg.send_back <= 1'b1;
      cfg.learn <= 1'b1;
      cfg.flood <= 1'b1;
      cfg.dscp <= {6'd15, 6'd7, 6'd11, 6'd3};
      fixed <= '0;
      routes <= '0;
    end else begin
      if (writes) case (at)
        8'h01: begin
          cfg.data_in_bytes <= word[0];
          cfg.control_in_bytes <= word[1];
          cfg.coin <= word[2];
          // The artifact's layout has no field that says where a header returns to.
          cfg.send_back <= word[3] && !word[7];
          cfg.mark <= word[4];
          cfg.learn <= word[5];
          cfg.flood <= word[6];
          cfg.artifact <= word[7];
        end
        8'h02: cfg.data_limit <= word[19:0];
        8'h03: cfg.control_limit <= word[19:0];
        8'h04: begin
          cfg.control_per_data <= word[7:0];
          cfg.trim_to <= word[15:8] > 8'(MAX_HEADERS) ? 8'(MAX_HEADERS) : word[15:8];
          cfg.mark_above <= word[23:16];
        end
        8'h05: cfg.dscp <= {word[29:24], word[21:16], word[13:8], word[5:0]};
        default: ;
      endcase
      for (int e = 0; e < FIXED; e++) begin
        if (to_fixed[e]) begin
          case (at[1:0])
            2'd0: fixed[e].mac[31:0] <= word;
            2'd1: {fixed[e].valid, fixed[e].mac[47:32]} <= word[16:0];
            2'd2: fixed[e].ways <= ways_of(word, fixed[e].ways.mask);
            2'd3: fixed[e].ways.mask <= word[15:0];
          endcase
        end
      end
      for (int e = 0; e < ROUTES; e++) begin
        if (to_route[e]) begin
          case (at[1:0])
            2'd0: routes[e].net <= word;
            2'd1: routes[e].bits <= word;
            2'd2: begin
              routes[e].ways <= ways_of(word, routes[e].ways.mask);
              routes[e].valid <= word[31];
            end
            2'd3: routes[e].ways.mask <= word[15:0];
          endcase
        end
      end
    end
  end
endmodule
