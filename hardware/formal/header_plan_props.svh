  // What is written into the headers of a frame, before its bytes come: valid whatever the frame held.
  logic past;
  initial past = 1'b0;
  always_ff @(posedge clk) past <= 1'b1;

  config_t settings;
  always_ff @(posedge clk) settings <= settings;
  always_comb begin
    assume (cfg == settings);
    assume (frame.ihl >= 5);
    // What admission and queue see to: a cut leaves the headers whole, and only frames with IP are cut or turned.
    assume (!(frame.cut || frame.turned) || frame.ip);
    assume (!frame.cut || 16'(frame.len) >= next_bytes + (cfg.artifact ? 16'd20 : 16'd40));
  end

  logic [15:0] old_len, old_sum, new_len, new_word;
  logic [15:0] frame_len, from_ip, from_udp;
  logic was_cut, was_turned, was_marked, v4;
  logic [7:0] old_tos;
  config_t then;
  always_ff @(posedge clk) begin
    then <= cfg;
    frame_len <= 16'(frame.len);
    from_ip <= 16'(frame.len) - (frame.vlan ? 16'd18 : 16'd14);
    from_udp <= 16'(frame.len) - (frame.vlan ? 16'd18 : 16'd14) - (frame.ipv6 ? 16'd40 : {10'b0, frame.ihl, 2'b0});
    new_len <= frame.cut ? 16'(frame.len) - (frame.vlan ? 16'd18 : 16'd14) : frame.ip_len;
    old_len <= frame.ip_len;
    old_sum <= frame.sum;
    new_word <= {4'd4, frame.ihl, plan0.tos};
    old_tos <= frame.tos;
    was_cut <= frame.cut;
    was_turned <= frame.turned;
    was_marked <= frame.marked;
    v4 <= !frame.ipv6;
  end
  always_ff @(posedge clk) if (past) begin
    ipv4_length: if (v4) assert (plan.ip_len == from_ip);
    ipv6_length: if (!v4) assert (plan.ip_len == from_udp);
    udp_length: assert (plan.udp_len == from_udp);
    // The sum of the old header, less the old length and with the new one (RFC 1624: a word is taken out by adding its
    // complement).
    checksum: if (v4 && plan.ipv4_sum)
      assert (plan.sum == ~fold(was_cut
          ? 24'(old_sum) + 24'(new_word) + {8'b0, ~old_len} + {8'b0, new_len} : 24'(old_sum) + 24'(new_word)));
    checksum_when_changed: assert (plan.ipv4_sum == (v4 && (was_cut || was_turned)));
    trimmed_mark: if (was_cut && !was_turned && !then.artifact) assert (plan.tos[7:2] == then.dscp[HEADER]);
    returned_mark: if (was_turned) assert (plan.tos[7:2] == then.dscp[RETURNED]);
    others_keep_theirs: if (!was_cut && !was_turned) assert (plan.tos[7:2] == old_tos[7:2]);
    ecn_stays: assert (plan.tos[1:0] == (was_marked ? 2'b11 : old_tos[1:0]));
    last_beat: assert (5'(frame_len + 16'(plan.empty)) == '0);
    reached: cover (was_cut && v4 && plan.sum == 16'h1234);
  end
